// Name:        co-mentions
// Question:    What is named in the same passages as an entity without being tied to it?
// Parameter:   $entity ENTITY: an entity's id, such as concept:retry budget, or a name that only one entity has.
// Column:      id STRING: the other entity.
// Column:      name STRING: its name.
// Column:      chunks INTEGER: chunks that name both; most come first.
// Column:      examples LIST<STRING>: ids of up to five of them.
MATCH (e:Entity {tenant: $tenant, id: $entity})<-[:MENTIONS]-(c:Chunk)
USING INDEX SEEK e:Entity(tenant, id)
WHERE c.audience IN $audiences
MATCH (c)-[:MENTIONS]->(other:Entity)
WHERE other <> e
WITH e, other, c ORDER BY c.id
WITH e, other, count(c) AS chunks, collect(c.id)[..5] AS examples
CALL (e, other) {
  MATCH (e)-[r:RELATES]-(other)
  WHERE any(a IN r.seen_audiences WHERE a IN $audiences)
  RETURN count(r) AS ties
}
WITH other, chunks, examples, ties WHERE ties = 0
RETURN other.id AS id,
       reduce(least = null, i IN range(0, size(other.seen_audiences) - 1) |
         CASE WHEN other.seen_audiences[i] IN $audiences AND (least IS NULL OR other.seen_names[i] < least)
              THEN other.seen_names[i] ELSE least END) AS name,
       chunks, examples
ORDER BY chunks DESC, id
LIMIT $limit
