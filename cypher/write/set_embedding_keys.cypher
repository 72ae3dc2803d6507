// Purpose:     note under which embedding key the vector of a stored chunk was made.
// Parameters:  $rows LIST<MAP {key, embedding_key}>, sorted by key.
// Needs:       constraint chunk_key.
// Idempotence: sets values; a chunk that is not there, or has not been stored yet, is passed over.
UNWIND $rows AS row
MATCH (c:Chunk {key: row.key})
WHERE c.embedding_key <> row.embedding_key
SET c.embedding_key = row.embedding_key
