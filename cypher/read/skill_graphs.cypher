// Purpose:     a page of a tenant's skill graphs with their present version, by name.
// Parameters:  $tenant STRING; $after STRING: the last name seen ('' for the first page); $limit INTEGER.
// Needs:       index skill_graph_name, whose order, by code points, is that of the pages.
// Returns:     a row {name, version, number, is_current} per graph.
MATCH (g:SkillGraph {tenant: $tenant})
WHERE g.name > $after
WITH g ORDER BY g.tenant, g.name LIMIT $limit
CALL (g) {
  MATCH (g)-[:HAS_VERSION]->(v:SkillVersion)
  WHERE v.version = g.version
  RETURN v.number AS number
}
RETURN g.name AS name, g.version AS version, number, true AS is_current
