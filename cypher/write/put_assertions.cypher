// Purpose:     write the evidence of relationships.
// Parameters:  $rows LIST<MAP {key, chunk_key, description, description_chars}>, sorted by key, chunk_key.
// Needs:       constraints fact_key and chunk_key; the facts are locked (write/lock_facts).
// Idempotence: one ASSERTS per chunk and fact; a second run sets the same values.
// Returns:     one row {written}; fewer than were sent means that a chunk is missing.
UNWIND $rows AS row
MATCH (c:Chunk {key: row.chunk_key})
MATCH (f:Fact {key: row.key})
MERGE (c)-[a:ASSERTS]->(f)
SET a.description = row.description, a.description_chars = row.description_chars
RETURN count(*) AS written
