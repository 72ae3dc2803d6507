// Purpose:     remove the nodes and edges that show a skill graph; its versions stay.
// Parameters:  $tenant, $graph STRING.
// Needs:       index skill_of_graph.
// Idempotence: a run that finds nothing changes nothing.
MATCH (s:Skill {tenant: $tenant, graph: $graph})
DETACH DELETE s
