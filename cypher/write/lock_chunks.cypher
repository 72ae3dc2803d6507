// Purpose:     take the write lock of chunks and tell what evidence each has.
// Parameters:  $rows LIST<MAP {key}>, sorted by key.
// Needs:       constraint chunk_key.
// Idempotence: writes nothing that differs; SET takes the lock, so that two runs never store a chunk's evidence twice.
// Returns:     a row {key, audience, extraction_key, state} per chunk that is stored.
UNWIND $rows AS row
MATCH (c:Chunk {key: row.key})
SET c.key = row.key
RETURN collect({key: row.key, audience: c.audience, extraction_key: c.extraction_key,
  state: c.extraction_state}) AS rows
