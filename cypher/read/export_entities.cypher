// Purpose:     a page of the merged entities with all provenance, for export and proof.
// Parameters:  $tenant STRING; $after STRING ('' for the first page); $limit INTEGER.
// Returns:     a row {id, type, name, description, surface_forms, chunks} per entity: the next by id, in no order.
// Needs:       index entity_id, whose order, by code points, is that of the pages.
MATCH (e:Entity {tenant: $tenant})
USING INDEX e:Entity(tenant, id)
WHERE e.id > $after
WITH e ORDER BY e.tenant, e.id LIMIT $limit
CALL (e) {
  MATCH (e)<-[m:MENTIONS]-(c:Chunk)
  RETURN collect(c.id) AS chunks, collect(m.surface_forms) AS surface_forms
}
RETURN e.id AS id, e.type AS type, e.name AS name, e.description AS description, surface_forms, chunks
