UNWIND $rows AS row
MATCH (c:BareChunk {key: row.chunk_key})
MATCH (f:BareFact {key: row.key})
MERGE (c)-[a:BARE_ASSERTS]->(f)
SET a += row.values
