// Name:        dependants
// Question:    What depends on an entity, directly or through others?
// Parameter:   $entity ENTITY: an entity's id, such as concept:retry budget, or a name that only one entity has.
// Parameter:   $types LIST<STRING> 0..50 = ["depends-on", "uses", "requires", "needs"]: types of relationship that count;
//              an empty list counts all.
// Parameter:   $depth INTEGER 1..8 = 4: steps, at most. Relationships are followed against their direction.
// Column:      depth INTEGER: steps from the dependant to the entity; the nearest come first.
// Column:      id STRING: the dependant.
// Column:      name STRING: its name.
// Column:      relationships LIST<STRING>: ids of the relationships of one shortest way, from the dependant on.
MATCH (e:Entity {tenant: $tenant, id: $entity})
USING INDEX SEEK e:Entity(tenant, id)
CALL (e) {  // on its own, so that it is walked from the entity on
  MATCH path = ALL SHORTEST (dependant)-[r:RELATES WHERE (size($types) = 0 OR r.type IN $types)
    AND any(a IN r.seen_audiences WHERE a IN $audiences)]->{1,8}(e)
  RETURN dependant, path
}
WITH e, dependant, length(path) AS depth, [r IN relationships(path) | r.id] AS way
WHERE depth <= $depth AND dependant <> e
WITH dependant, depth, min(way) AS relationships
RETURN depth, dependant.id AS id,
       reduce(least = null, i IN range(0, size(dependant.seen_audiences) - 1) |
         CASE WHEN dependant.seen_audiences[i] IN $audiences AND (least IS NULL OR dependant.seen_names[i] < least)
              THEN dependant.seen_names[i] ELSE least END) AS name,
       relationships
ORDER BY depth, id
LIMIT $limit
