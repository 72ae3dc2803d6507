// Purpose:     take back the evidence of relationships that these chunks hold.
// Parameters:  $keys LIST<STRING>: chunk keys, sorted.
// Needs:       the facts are locked (write/lock_facts) and recomputed in the same transaction.
// Idempotence: a second run finds nothing.
UNWIND $keys AS chunk_key
MATCH (:Chunk {key: chunk_key})-[a:ASSERTS]->(:Fact)
DELETE a
