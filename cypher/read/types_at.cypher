// Purpose:     the types of the visible relationships of an entity.
// Parameters:  $key STRING: the entity's; $limit INTEGER; $audiences LIST<STRING> or null (all); $conditions as in read/ties.
// Returns:     a row {type} per type, sorted.
MATCH (e:Entity {key: $key})-[r:RELATES]-()
WHERE ($audiences IS NULL OR any(audience IN r.seen_audiences WHERE audience IN $audiences))
  AND (size($conditions) = 0 OR EXISTS {
    MATCH (:Fact {key: r.key})<-[:ASSERTS]-(chunk:Chunk)<-[:HAS_CHUNK]-(s:Source)
    WHERE ($audiences IS NULL OR chunk.audience IN $audiences)
      AND all(c IN $conditions WHERE any(value IN [] + coalesce(s[c.field], []) WHERE
        (c.values IS NULL OR value IN c.values) AND (c.gte IS NULL OR value >= c.gte)
        AND (c.lte IS NULL OR value <= c.lte)))
  })
WITH DISTINCT r.type AS type ORDER BY type LIMIT $limit
RETURN collect({type: type}) AS rows
