// Purpose:     remove a skill graph with all its versions, once its nodes are cleared.
// Parameters:  $key STRING: of the graph.
// Needs:       constraint skill_graph_key.
// Idempotence: a run that finds nothing changes nothing.
// Returns:     one row {deleted}: graphs removed.
MATCH (g:SkillGraph {key: $key})
CALL (g) {
  MATCH (g)-[:HAS_VERSION]->(v:SkillVersion)
  DETACH DELETE v
}
DETACH DELETE g
RETURN count(*) AS deleted
