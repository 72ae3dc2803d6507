// Name:        most-central
// Question:    Which entities of a type are tied to most others?
// Parameter:   $type STRING 0..64 = "": only entities of this type, such as team; empty: of any.
// Column:      id STRING: the entity.
// Column:      name STRING: its name.
// Column:      neighbours INTEGER: entities that it is tied to; most come first.
// Column:      relationships INTEGER: relationships that start or end at it.
MATCH (e:Entity {tenant: $tenant})
USING INDEX SEEK e:Entity(tenant, id)
WHERE e.id STARTS WITH CASE WHEN $type = '' THEN '' ELSE $type + ':' END AND any(a IN e.seen_audiences WHERE a IN $audiences)
CALL (e) {
  MATCH (e)-[r:RELATES]-(n:Entity)
  WHERE any(a IN r.seen_audiences WHERE a IN $audiences)
  RETURN count(DISTINCT n) AS neighbours, count(DISTINCT r) AS relationships
}
WITH e, neighbours, relationships WHERE neighbours > 0
RETURN e.id AS id,
       reduce(least = null, i IN range(0, size(e.seen_audiences) - 1) |
         CASE WHEN e.seen_audiences[i] IN $audiences AND (least IS NULL OR e.seen_names[i] < least)
              THEN e.seen_names[i] ELSE least END) AS name,
       neighbours, relationships
ORDER BY neighbours DESC, relationships DESC, id
LIMIT $limit
