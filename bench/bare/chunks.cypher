UNWIND $rows AS row
MERGE (:BareChunk {key: row.key})
