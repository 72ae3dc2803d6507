// Purpose:     the relationships at these entities that a reader may see: of each entity the heaviest, as the reader weighs them.
// Parameters:  $keys LIST<STRING>: entity keys; $audiences LIST<STRING> or null (all): audiences the reader belongs to;
//              $limit INTEGER.
// Returns:     a row {key} per relationship, each once.
UNWIND $keys AS key
MATCH (e:Entity {key: key})
CALL (e) {
  MATCH (e)-[r:RELATES]-()
  WITH DISTINCT r, reduce(weight = 0, i IN range(0, size(r.seen_audiences) - 1) |
    weight + CASE WHEN $audiences IS NULL OR r.seen_audiences[i] IN $audiences THEN r.seen_counts[i] ELSE 0 END) AS weight
  WHERE weight > 0
  RETURN r.key AS relationship, weight, coalesce(r.order_id, r.id) AS place
  ORDER BY weight DESC, place LIMIT $limit
}
WITH DISTINCT relationship AS key
RETURN collect({key: key}) AS rows
