// Purpose:     sources with all their chunks.
// Parameters:  $keys LIST<STRING>: source keys.
// Returns:     a row {source, chunks: LIST<MAP>} per source that exists.
UNWIND $keys AS key
MATCH (s:Source {key: key})
CALL (s) {
  MATCH (s)-[:HAS_CHUNK]->(c:Chunk)
  RETURN collect(properties(c)) AS chunks
}
RETURN collect({source: properties(s), chunks: chunks}) AS rows
