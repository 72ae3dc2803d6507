// Purpose:     under which key these chunks were read, and what came of it.
// Parameters:  $keys LIST<STRING>: chunk keys.
// Needs:       constraint chunk_key.
// Returns:     a row {key, extraction_key, state, error_code, error} per chunk that was read; no error unless it failed.
UNWIND $keys AS key
MATCH (c:Chunk {key: key})
WHERE c.extraction_key IS NOT NULL
RETURN c.key AS key, c.extraction_key AS extraction_key, c.extraction_state AS state,
       c.extraction_error_code AS error_code, c.extraction_error AS error
