// Purpose:     write the nodes of a skill graph: skills, and the predicates of a tree.
// Parameters:  $rows LIST<MAP {key, tenant, graph, place, id, kind, label, description}>, sorted by key; all properties.
// Needs:       constraint skill_key.
// Idempotence: MERGE on the key; replaces all values.
UNWIND $rows AS row
MERGE (s:Skill {key: row.key})
SET s = row
