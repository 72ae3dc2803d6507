// Purpose:     the evidence of entities that these chunks hold.
// Parameters:  $keys LIST<STRING>: chunk keys.
// Returns:     a row {key, id, type, name_key, chunk_key, chunk_id, audience, name, surface_forms, description} per mention.
UNWIND $keys AS chunk_key
MATCH (c:Chunk {key: chunk_key})-[m:MENTIONS]->(e:Entity)
RETURN collect({key: e.key, id: e.id, chunk_key: c.key, chunk_id: c.id, audience: c.audience, name: m.name,
  surface_forms: m.surface_forms, description: m.description}) AS rows
