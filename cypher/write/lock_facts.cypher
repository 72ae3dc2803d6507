// Purpose:     make sure these facts exist, take their write locks in key order, and read what each audience knows.
// Parameters:  $tenant STRING; $rows LIST<MAP {key, id}>, sorted by key.
// Needs:       constraints fact_key and relates_key.
// Idempotence: MERGE on the key; a second run finds the node. Evidence is read only after this lock.
// Returns:     a row {key, gone, audiences, counts, descriptions, spares} per row; nulls for a new fact; gone as in
//              write/lock_entities.
UNWIND $rows AS row
MERGE (f:Fact {key: row.key})
ON CREATE SET f.tenant = $tenant, f.id = row.id
ON MATCH SET f.key = row.key
WITH row, f.id IS NULL AS gone
OPTIONAL MATCH ()-[r:RELATES {key: row.key}]->()
RETURN collect({key: row.key, gone: gone, audiences: r.seen_audiences, counts: r.seen_counts,
  descriptions: r.seen_descriptions, spares: r.seen_spares}) AS rows
