// Purpose:     the vector store has followed these changes.
// Parameters:  $keys LIST<STRING>.
// Idempotence: a second run finds nothing.
UNWIND $keys AS key
MATCH (s:VectorSync {key: key})
DELETE s
