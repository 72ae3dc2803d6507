// Name:        shortest-paths
// Question:    How are two entities tied to each other in the fewest steps?
// Parameter:   $start ENTITY: where paths begin; an id, or a name that only one entity has.
// Parameter:   $goal ENTITY: where they end.
// Parameter:   $steps INTEGER 1..6 = 4: relationships of a path, at most; they are followed in either direction.
// Column:      steps INTEGER: relationships of the path; all shortest ones have the same.
// Column:      entities LIST<STRING>: ids of its entities, in order.
// Column:      relationships LIST<STRING>: ids of its relationships, in order; each says its own direction.
MATCH (a:Entity {tenant: $tenant, id: $start})
USING INDEX SEEK a:Entity(tenant, id)
MATCH (b:Entity {tenant: $tenant, id: $goal})
USING INDEX SEEK b:Entity(tenant, id)
WHERE a <> b
MATCH path = ALL SHORTEST (a)-[r:RELATES WHERE any(a IN r.seen_audiences WHERE a IN $audiences)]-{1,6}(b)
WITH path WHERE length(path) <= $steps
RETURN length(path) AS steps, [n IN nodes(path) | n.id] AS entities, [r IN relationships(path) | r.id] AS relationships
ORDER BY relationships
LIMIT $limit
