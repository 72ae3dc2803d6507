// Purpose:     the evidence of relationships that these chunks hold.
// Parameters:  $keys LIST<STRING>: chunk keys.
// Returns:     a row {key, id, chunk_key, chunk_id, audience, description} per assertion.
UNWIND $keys AS chunk_key
MATCH (c:Chunk {key: chunk_key})-[a:ASSERTS]->(f:Fact)
RETURN collect({key: f.key, id: f.id, chunk_key: c.key, chunk_id: c.id, audience: c.audience,
  description: a.description}) AS rows
