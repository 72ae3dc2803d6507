// Purpose:     write what evidence makes of entities.
// Parameters:  $rows LIST<MAP {key, values: MAP {name, description, mentions, seen_audiences, seen_counts, seen_names,
//              seen_descriptions, seen_spares}}>, sorted by key. The four lists run in parallel, one place per audience.
// Needs:       constraint entity_key; the entities are locked (write/lock_entities).
// Idempotence: sets values computed from all evidence; a second run sets the same.
UNWIND $rows AS row
MATCH (e:Entity {key: row.key})
SET e += row.values
