// Purpose:     under which key these chunks were read, and what came of it.
// Parameters:  $keys LIST<STRING>: chunk keys.
// Needs:       constraint chunk_key.
// Returns:     a row {key, extraction_key, state, error_code, error} per chunk that was read; no error unless it failed.
UNWIND $keys AS key
MATCH (c:Chunk {key: key})
WHERE c.extraction_key IS NOT NULL
RETURN collect({key: c.key, extraction_key: c.extraction_key, state: c.extraction_state,
  error_code: c.extraction_error_code, error: c.extraction_error}) AS rows
