// Purpose:     one version of a skill graph.
// Parameters:  $key STRING: of the graph; $version STRING: a hash, or null for the present version.
// Needs:       constraint skill_graph_key.
// Returns:     a row {version, number, is_current, declaration}; none: there is none such.
MATCH (g:SkillGraph {key: $key})-[:HAS_VERSION]->(v:SkillVersion)
WHERE v.version = coalesce($version, g.version)
RETURN v.version AS version, v.number AS number, v.version = g.version AS is_current, v.declaration AS declaration
