UNWIND $rows AS row
MATCH (a:BareEntity {key: row.from_key})
MATCH (b:BareEntity {key: row.to_key})
MERGE (a)-[r:BARE_RELATES {key: row.key}]->(b)
SET r += row.values
