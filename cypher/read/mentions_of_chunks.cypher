// Purpose:     the evidence of entities that these chunks hold.
// Parameters:  $keys LIST<STRING>: chunk keys.
// Returns:     a row {key, id, type, name_key, chunk_key, chunk_id, audience, name, surface_forms, description} per mention.
UNWIND $keys AS chunk_key
MATCH (c:Chunk {key: chunk_key})-[m:MENTIONS]->(e:Entity)
RETURN e.key AS key, e.id AS id, c.key AS chunk_key, c.id AS chunk_id, c.audience AS audience,
       m.name AS name, m.surface_forms AS surface_forms, m.description AS description
