// Purpose:     write the edges between the nodes of a skill graph.
// Parameters:  $rows LIST<MAP {key, from, to, place, kind, label}>, sorted by key; from and to are keys.
// Needs:       constraints skill_key and route_key.
// Idempotence: MERGE on the key; sets values.
UNWIND $rows AS row
MATCH (a:Skill {key: row.from})
MATCH (b:Skill {key: row.to})
MERGE (a)-[r:ROUTE {key: row.key}]->(b)
SET r.place = row.place, r.kind = row.kind, r.label = row.label
