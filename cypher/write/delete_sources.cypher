// Purpose:     remove sources and their texts.
// Parameters:  $keys LIST<STRING>, sorted.
// Needs:       their chunks are gone (write/delete_chunks).
// Idempotence: a second run finds nothing.
UNWIND $keys AS key
MATCH (s:Source {key: key})
OPTIONAL MATCH (s)-[:HAS_TEXT]->(t:SourceText)
DETACH DELETE t, s
