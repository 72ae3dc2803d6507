// Purpose:     a page of the merged relationships with all provenance, for export and proof.
// Parameters:  $tenant STRING; $after STRING ('' for the first page); $limit INTEGER.
// Returns:     a row {id, type, description, weight, chunks} per relationship: the next by id, in no order.
// Needs:       index fact_id, whose order, by code points, is that of the pages.
MATCH (f:Fact {tenant: $tenant})
USING INDEX f:Fact(tenant, id)
WHERE f.id > $after
WITH f ORDER BY f.tenant, f.id LIMIT $limit
CALL (f) {
  MATCH (f)<-[:ASSERTS]-(c:Chunk)
  RETURN collect(c.id) AS chunks
}
MATCH ()-[r:RELATES {key: f.key}]->()
RETURN f.id AS id, r.type AS type, r.description AS description, r.weight AS weight, chunks
