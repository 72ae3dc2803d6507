// Purpose:     take back the evidence of entities that these chunks hold.
// Parameters:  $keys LIST<STRING>: chunk keys, sorted.
// Needs:       the entities are locked (write/lock_entities) and recomputed in the same transaction.
// Idempotence: a second run finds nothing.
UNWIND $keys AS chunk_key
MATCH (:Chunk {key: chunk_key})-[m:MENTIONS]->(:Entity)
DELETE m
