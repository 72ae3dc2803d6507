// Purpose:     the versions of a skill graph, without their texts.
// Parameters:  $key STRING: of the graph.
// Needs:       constraint skill_graph_key.
// Returns:     a row {version, number, is_current} per version, in any order.
MATCH (g:SkillGraph {key: $key})-[:HAS_VERSION]->(v:SkillVersion)
RETURN v.version AS version, v.number AS number, v.version = g.version AS is_current
