// Purpose:     the relationships at these entities that evidence from some sources asserts: of each entity the heaviest.
// Parameters:  $keys LIST<STRING>: entity keys; $limit INTEGER; $audiences, $conditions as in read/entities_filtered.
// Returns:     a row {key} per relationship, each once.
UNWIND $keys AS key
MATCH (e:Entity {key: key})
CALL (e) {
  MATCH (e)-[r:RELATES]-()
  WITH DISTINCT r
  MATCH (:Fact {key: r.key})<-[a:ASSERTS]-(chunk:Chunk)<-[:HAS_CHUNK]-(s:Source)
  WHERE ($audiences IS NULL OR chunk.audience IN $audiences)
    AND all(c IN $conditions WHERE any(value IN [] + coalesce(s[c.field], []) WHERE
      (c.values IS NULL OR value IN c.values) AND (c.gte IS NULL OR value >= c.gte)
      AND (c.lte IS NULL OR value <= c.lte)))
  WITH r, count(a) AS weight
  RETURN r.key AS relationship, weight, coalesce(r.order_id, r.id) AS place
  ORDER BY weight DESC, place LIMIT $limit
}
WITH DISTINCT relationship AS key
RETURN collect({key: key}) AS rows
