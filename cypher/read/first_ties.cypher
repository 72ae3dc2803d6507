// Purpose:     the first visible relationships of an entity, however many it has.
// Parameters:  $key STRING: the entity's; $other STRING or null (any): the key of the entity at the other end; $limit
//              INTEGER; $direction, $types, $audiences, $conditions as in read/ties.
// Returns:     a row {id} per relationship, by id.
MATCH (e:Entity {key: $key})-[r:RELATES]-(other:Entity)
WHERE ($other IS NULL OR other.key = $other)
  AND ($types IS NULL OR r.type IN $types)
  AND ($direction = 'either' OR ($direction = 'out') = (startNode(r) = e))
  AND ($audiences IS NULL OR any(audience IN r.seen_audiences WHERE audience IN $audiences))
  AND (size($conditions) = 0 OR EXISTS {
    MATCH (:Fact {key: r.key})<-[:ASSERTS]-(chunk:Chunk)<-[:HAS_CHUNK]-(s:Source)
    WHERE ($audiences IS NULL OR chunk.audience IN $audiences)
      AND all(c IN $conditions WHERE any(value IN [] + coalesce(s[c.field], []) WHERE
        (c.values IS NULL OR value IN c.values) AND (c.gte IS NULL OR value >= c.gte)
        AND (c.lte IS NULL OR value <= c.lte)))
  })
WITH r ORDER BY coalesce(r.order_id, r.id) LIMIT $limit
RETURN collect({id: r.id}) AS rows
