// Name:        common-neighbours
// Question:    What are two entities both tied to?
// Parameter:   $first ENTITY: an id, or a name that only one entity has.
// Parameter:   $second ENTITY: the other one.
// Column:      id STRING: what both are tied to.
// Column:      name STRING: its name.
// Column:      of_first LIST<STRING>: ids of its relationships with the first.
// Column:      of_second LIST<STRING>: ids of those with the second.
MATCH (a:Entity {tenant: $tenant, id: $first})
USING INDEX SEEK a:Entity(tenant, id)
MATCH (b:Entity {tenant: $tenant, id: $second})
USING INDEX SEEK b:Entity(tenant, id)
WHERE a <> b
MATCH (a)-[r:RELATES]-(n:Entity)
WHERE n <> b AND any(a IN r.seen_audiences WHERE a IN $audiences)
MATCH (n)-[s:RELATES]-(b)
WHERE any(a IN s.seen_audiences WHERE a IN $audiences)
WITH n, r, s ORDER BY r.id, s.id
WITH n, collect(DISTINCT r.id) AS of_first, collect(DISTINCT s.id) AS of_second
RETURN n.id AS id,
       reduce(least = null, i IN range(0, size(n.seen_audiences) - 1) |
         CASE WHEN n.seen_audiences[i] IN $audiences AND (least IS NULL OR n.seen_names[i] < least)
              THEN n.seen_names[i] ELSE least END) AS name,
       of_first, of_second
ORDER BY id
LIMIT $limit
