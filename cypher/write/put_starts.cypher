// Purpose:     write the edges that leave the start of a skill graph; the graph's own node stands for it.
// Parameters:  $key STRING: of the graph; $rows LIST<MAP {key, to, place, kind, label}>, sorted by key; to is a key.
// Needs:       constraints skill_graph_key, skill_key and route_key.
// Idempotence: MERGE on the key; sets values.
MATCH (g:SkillGraph {key: $key})
UNWIND $rows AS row
MATCH (b:Skill {key: row.to})
MERGE (g)-[r:ROUTE {key: row.key}]->(b)
SET r.place = row.place, r.kind = row.kind, r.label = row.label
