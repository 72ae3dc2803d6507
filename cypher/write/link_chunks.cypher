// Purpose:     put the chunks of a source in reading order for people who look at the graph.
// Parameters:  $rows LIST<MAP {key, next}>, sorted by key: chunk keys, each with the one after it, or null for the last.
// Needs:       constraint chunk_key.
// Idempotence: removes a NEXT that leads elsewhere, merges the one that is due.
UNWIND $rows AS row
MATCH (c:Chunk {key: row.key})
CALL (c, row) {
  MATCH (c)-[old:NEXT]->(other:Chunk)
  WHERE row.next IS NULL OR other.key <> row.next
  DELETE old
}
WITH c, row WHERE row.next IS NOT NULL
MATCH (n:Chunk {key: row.next})
MERGE (c)-[:NEXT]->(n)
