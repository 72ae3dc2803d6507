// Purpose:     the evidence of relationships that these chunks hold.
// Parameters:  $keys LIST<STRING>: chunk keys.
// Returns:     a row {key, id, chunk_key, chunk_id, audience, description} per assertion.
UNWIND $keys AS chunk_key
MATCH (c:Chunk {key: chunk_key})-[a:ASSERTS]->(f:Fact)
RETURN f.key AS key, f.id AS id, c.key AS chunk_key, c.id AS chunk_id, c.audience AS audience,
       a.description AS description
