UNWIND $rows AS row
MERGE (e:BareEntity {key: row.key})
SET e += row.values, e:$(row.label)
