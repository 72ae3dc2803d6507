// Name:        neighbourhood
// Question:    What is an entity tied to, and how?
// Parameter:   $entity ENTITY: an entity's id, such as concept:retry budget, or a name that only one entity has.
// Column:      id STRING: the entity at the other end.
// Column:      name STRING: its name.
// Column:      type STRING: the relationship's type.
// Column:      direction STRING: out when the relationship starts at the entity asked about, else in.
// Column:      description STRING: what is said of the relationship.
// Column:      weight INTEGER: how many chunks assert it; the heaviest come first.
MATCH (e:Entity {tenant: $tenant, id: $entity})-[r:RELATES]-(other:Entity)
USING INDEX SEEK e:Entity(tenant, id)
WITH e, r, other,
       reduce(count = 0, i IN range(0, size(r.seen_audiences) - 1) |
         count + CASE WHEN r.seen_audiences[i] IN $audiences THEN r.seen_counts[i] ELSE 0 END) AS weight
WHERE weight > 0
RETURN other.id AS id,
       reduce(least = null, i IN range(0, size(other.seen_audiences) - 1) |
         CASE WHEN other.seen_audiences[i] IN $audiences AND (least IS NULL OR other.seen_names[i] < least)
              THEN other.seen_names[i] ELSE least END) AS name,
       r.type AS type, CASE WHEN startNode(r) = e THEN 'out' ELSE 'in' END AS direction,
       reduce(best = '', i IN range(0, size(r.seen_audiences) - 1) |
         CASE WHEN r.seen_audiences[i] IN $audiences AND (size(r.seen_descriptions[i]) > size(best)
                OR size(r.seen_descriptions[i]) = size(best) AND r.seen_descriptions[i] < best)
              THEN r.seen_descriptions[i] ELSE best END) AS description,
       weight
ORDER BY weight DESC, id, type, direction
LIMIT $limit
