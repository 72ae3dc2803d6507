// Purpose:     for each embedding key: the first chunk, by id, whose vector was made under it.
// Parameters:  $tenant STRING; $keys LIST<STRING>.
// Returns:     a row {embedding_key, chunk_id} per key that is known.
UNWIND $keys AS embedding_key
CALL (embedding_key) {
  MATCH (c:Chunk {tenant: $tenant, embedding_key: embedding_key})
  RETURN c.id AS chunk_id ORDER BY coalesce(c.order_id, c.id) LIMIT 1
}
RETURN collect({embedding_key: embedding_key, chunk_id: chunk_id}) AS rows
