// Purpose:     for each extraction key: the first chunk, by id, that has final evidence under it.
// Parameters:  $tenant STRING; $keys LIST<STRING>.
// Returns:     a row {extraction_key, chunk_key, chunk_id, state} per key that is known.
UNWIND $keys AS extraction_key
CALL (extraction_key) {
  MATCH (c:Chunk {tenant: $tenant, extraction_key: extraction_key})
  WHERE c.extraction_state IN ['done', 'empty']
  RETURN c.key AS chunk_key, c.id AS chunk_id, c.extraction_state AS state
  ORDER BY coalesce(c.order_id, c.id) LIMIT 1
}
RETURN extraction_key, chunk_key, chunk_id, state
