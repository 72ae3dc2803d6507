// Purpose:     remove chunks whose evidence is gone.
// Parameters:  $keys LIST<STRING>, sorted.
// Needs:       the evidence of these chunks was removed in the same transaction.
// Idempotence: a second run finds nothing.
UNWIND $keys AS key
MATCH (c:Chunk {key: key})
DETACH DELETE c
