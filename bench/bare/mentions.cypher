UNWIND $rows AS row
MATCH (c:BareChunk {key: row.chunk_key})
MATCH (e:BareEntity {key: row.key})
MERGE (c)-[m:BARE_MENTIONS]->(e)
SET m += row.values
