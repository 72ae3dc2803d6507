// Purpose:     write chunks of a source: position and keys; evidence and audience of a known chunk stay.
// Parameters:  $source STRING: the source's key; $rows LIST<MAP {key, audience, values}>, sorted by key.
// Needs:       constraints source_key and chunk_key; the source is written (write/put_source).
// Idempotence: MERGE on the keys; sets values.
UNWIND $rows AS row
MERGE (c:Chunk {key: row.key})
ON CREATE SET c.audience = row.audience, c.extraction_state = 'none'
SET c += row.values
WITH c
MATCH (s:Source {key: $source})
MERGE (s)-[:HAS_CHUNK]->(c)
