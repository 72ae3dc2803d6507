UNWIND $rows AS row
MERGE (f:BareFact {key: row.key})
SET f += row.values
