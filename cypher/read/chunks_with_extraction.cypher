// Purpose:     for each extraction key: the first chunk, by id, that has final evidence under it.
// Parameters:  $tenant STRING; $keys LIST<STRING>.
// Returns:     a row {chunk_id} per key that is known.
UNWIND $keys AS extraction_key
CALL (extraction_key) {
  MATCH (c:Chunk {tenant: $tenant, extraction_key: extraction_key})
  WHERE c.extraction_state IN ['done', 'empty']
  RETURN c.id AS chunk_id
  ORDER BY coalesce(c.order_id, c.id) LIMIT 1
}
RETURN collect({chunk_id: chunk_id}) AS rows
