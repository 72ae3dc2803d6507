// Purpose:     write chunks of sources: position and keys; evidence and audience of a known chunk stay.
// Parameters:  $rows LIST<MAP {key, source, audience, values}>, sorted by key; source is the source's key.
// Needs:       constraints source_key and chunk_key; the sources are written (write/put_sources).
// Idempotence: MERGE on the keys; sets values.
UNWIND $rows AS row
MERGE (c:Chunk {key: row.key})
ON CREATE SET c.audience = row.audience, c.extraction_state = 'none'
SET c += row.values
WITH c, row
MATCH (s:Source {key: row.source})
MERGE (s)-[:HAS_CHUNK]->(c)
