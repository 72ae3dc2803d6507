// Purpose:     make sure these entities exist, take their write locks in key order, and read what each audience knows.
// Parameters:  $tenant STRING; $rows LIST<MAP {key, id, type, name_key, label}>, sorted by key.
// Needs:       constraint entity_key.
// Idempotence: MERGE on the key; a second run finds the node. Evidence is read only after this lock.
// Returns:     a row {key, gone, audiences, counts, names, descriptions, spares} per row; nulls for a new entity. One is gone that
//              another transaction removed between MERGE and SET: it is to be locked again, which makes it anew.
UNWIND $rows AS row
MERGE (e:Entity {key: row.key})
ON CREATE SET e.tenant = $tenant, e.id = row.id, e.type = row.type, e.name_key = row.name_key, e:$(row.label)
ON MATCH SET e.key = row.key
RETURN collect({key: row.key, gone: e.id IS NULL, audiences: e.seen_audiences, counts: e.seen_counts,
  names: e.seen_names, descriptions: e.seen_descriptions, spares: e.seen_spares}) AS rows
