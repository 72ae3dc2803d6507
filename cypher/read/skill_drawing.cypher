// Purpose:     the nodes of a skill graph, each with the edges that lead to it.
// Parameters:  $tenant, $graph STRING.
// Needs:       index skill_of_graph.
// Returns:     a row {place, id, kind, label, description, edges: LIST<MAP {place, from, to, kind, label}>} per node, in any
//              order; from is an id, or null for the start.
MATCH (s:Skill {tenant: $tenant, graph: $graph})
RETURN s.place AS place, s.id AS id, s.kind AS kind, s.label AS label, s.description AS description,
  COLLECT {
    MATCH (s)<-[r:ROUTE]-(from)
    RETURN {place: r.place, from: CASE WHEN from:SkillGraph THEN null ELSE from.id END, to: s.id, kind: r.kind, label: r.label}
  } AS edges
