// Purpose:     the visible relationships of these entities, for a walk that does not go through hubs.
// Parameters:  $keys LIST<STRING>: entity keys; $cap INTEGER; $direction STRING: out, in or either; $types LIST<STRING> or
//              null (all); $audiences LIST<STRING> or null (all): audiences the reader belongs to; $conditions as in
//              read/entities_filtered, or empty.
// Returns:     a row {id, degree, relationships} per entity; where degree is $cap + 1 there are more, and none is given.
UNWIND $keys AS key
MATCH (e:Entity {key: key})
CALL (e) {
  MATCH (e)-[r:RELATES]-()
  WHERE ($types IS NULL OR r.type IN $types)
    AND ($direction = 'either' OR ($direction = 'out') = (startNode(r) = e))
    AND ($audiences IS NULL OR any(audience IN r.seen_audiences WHERE audience IN $audiences))
    AND (size($conditions) = 0 OR EXISTS {
      MATCH (:Fact {key: r.key})<-[:ASSERTS]-(chunk:Chunk)<-[:HAS_CHUNK]-(s:Source)
      WHERE ($audiences IS NULL OR chunk.audience IN $audiences)
        AND all(c IN $conditions WHERE any(value IN [] + coalesce(s[c.field], []) WHERE
          (c.values IS NULL OR value IN c.values) AND (c.gte IS NULL OR value >= c.gte)
          AND (c.lte IS NULL OR value <= c.lte)))
    })
  WITH r.id AS id LIMIT toInteger($cap) + 1  // a hub is not read to its end; which ones come does not matter
  RETURN collect(id) AS ids
}
RETURN collect({id: e.id, degree: size(ids), relationships: CASE WHEN size(ids) > $cap THEN [] ELSE ids END}) AS rows
