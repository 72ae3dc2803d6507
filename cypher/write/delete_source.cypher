// Purpose:     remove a source and its text.
// Parameters:  $key STRING.
// Needs:       its chunks are gone (write/delete_chunks).
// Idempotence: a second run finds nothing.
MATCH (s:Source {key: $key})
OPTIONAL MATCH (s)-[:HAS_TEXT]->(t:SourceText)
DETACH DELETE t, s
