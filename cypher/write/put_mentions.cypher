// Purpose:     write the evidence of entities.
// Parameters:  $rows LIST<MAP {key, chunk_key, name, surface_forms, description, description_chars}>, sorted by key, chunk_key.
// Needs:       constraints entity_key and chunk_key; the entities are locked (write/lock_entities).
// Idempotence: one MENTIONS per chunk and entity; a second run sets the same values.
// Returns:     one row {written}; fewer than were sent means that a chunk is missing.
UNWIND $rows AS row
MATCH (c:Chunk {key: row.chunk_key})
MATCH (e:Entity {key: row.key})
MERGE (c)-[m:MENTIONS]->(e)
SET m.name = row.name, m.surface_forms = row.surface_forms, m.description = row.description,
    m.description_chars = row.description_chars
RETURN count(*) AS written
