// Name:        similar-entities
// Question:    Which entities are tied to the same things as an entity?
// Parameter:   $entity ENTITY: an entity's id, such as concept:retry budget, or a name that only one entity has.
// Column:      id STRING: the similar entity.
// Column:      name STRING: its name.
// Column:      shared INTEGER: neighbours that both have.
// Column:      similarity FLOAT: shared neighbours as a share of all that either has (Jaccard); most come first.
MATCH (e:Entity {tenant: $tenant, id: $entity})
USING INDEX SEEK e:Entity(tenant, id)
CALL (e) {
  MATCH (e)-[r:RELATES]-(n:Entity)
  WHERE any(a IN r.seen_audiences WHERE a IN $audiences)
  RETURN count(DISTINCT n) AS own
}
MATCH (e)-[r:RELATES]-(n:Entity)
WHERE any(a IN r.seen_audiences WHERE a IN $audiences)
WITH DISTINCT e, own, n
MATCH (n)-[s:RELATES]-(other:Entity)
WHERE other <> e AND any(a IN s.seen_audiences WHERE a IN $audiences)
WITH own, other, count(DISTINCT n) AS shared
CALL (other) {
  MATCH (other)-[t:RELATES]-(m:Entity)
  WHERE any(a IN t.seen_audiences WHERE a IN $audiences)
  RETURN count(DISTINCT m) AS theirs
}
RETURN other.id AS id,
       reduce(least = null, i IN range(0, size(other.seen_audiences) - 1) |
         CASE WHEN other.seen_audiences[i] IN $audiences AND (least IS NULL OR other.seen_names[i] < least)
              THEN other.seen_names[i] ELSE least END) AS name,
       shared, toFloat(shared) / (own + theirs - shared) AS similarity
ORDER BY similarity DESC, shared DESC, id
LIMIT $limit
