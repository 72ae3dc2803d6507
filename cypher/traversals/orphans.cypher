// Name:        orphans
// Question:    Which entities are named, and tied to nothing?
// Parameter:   $type STRING 0..64 = "": only entities of this type, such as team; empty: of any.
// Column:      id STRING: the entity.
// Column:      name STRING: its name.
// Column:      mentions INTEGER: chunks that name it; most come first.
MATCH (e:Entity {tenant: $tenant})
USING INDEX SEEK e:Entity(tenant, id)
WHERE e.id STARTS WITH CASE WHEN $type = '' THEN '' ELSE $type + ':' END AND any(a IN e.seen_audiences WHERE a IN $audiences)
CALL (e) {
  MATCH (e)-[r:RELATES]-()
  WHERE any(a IN r.seen_audiences WHERE a IN $audiences)
  RETURN count(r) AS ties
}
WITH e, ties WHERE ties = 0
RETURN e.id AS id,
       reduce(least = null, i IN range(0, size(e.seen_audiences) - 1) |
         CASE WHEN e.seen_audiences[i] IN $audiences AND (least IS NULL OR e.seen_names[i] < least)
              THEN e.seen_names[i] ELSE least END) AS name,
       reduce(count = 0, i IN range(0, size(e.seen_audiences) - 1) |
         count + CASE WHEN e.seen_audiences[i] IN $audiences THEN e.seen_counts[i] ELSE 0 END) AS mentions
ORDER BY mentions DESC, id
LIMIT $limit
