// Purpose:     remove relationships that do not lie between the entities that their id names.
// Parameters:  $rows LIST<MAP {key, from_key, to_key}>, sorted by key.
// Needs:       constraint relates_key; the facts are locked (write/lock_facts) and written again after this.
// Idempotence: a second run finds nothing.
UNWIND $rows AS row
MATCH (a)-[r:RELATES {key: row.key}]->(b)
WHERE a.key <> row.from_key OR b.key <> row.to_key
DELETE r
