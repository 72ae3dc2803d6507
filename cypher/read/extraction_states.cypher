// Purpose:     under which key these chunks were read, and what came of it.
// Parameters:  $keys LIST<STRING>: chunk keys.
// Needs:       constraint chunk_key.
// Returns:     a row {key, extraction_key, state} per chunk that was read.
UNWIND $keys AS key
MATCH (c:Chunk {key: key})
WHERE c.extraction_key IS NOT NULL
RETURN c.key AS key, c.extraction_key AS extraction_key, c.extraction_state AS state
