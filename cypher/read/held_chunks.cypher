// Purpose:     which of these chunks a source holds.
// Parameters:  $keys LIST<STRING>: chunk keys.
// Needs:       constraint chunk_key.
// Returns:     a row {key} per chunk that is there and has a source.
UNWIND $keys AS key
MATCH (c:Chunk {key: key})
WHERE EXISTS { MATCH (:Source)-[:HAS_CHUNK]->(c) }
RETURN collect({key: key}) AS rows
