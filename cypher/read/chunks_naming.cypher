// Purpose:     for each entity: its first visible chunks.
// Parameters:  $keys LIST<STRING>; $limit INTEGER; $audiences, $conditions as in read/entities_filtered.
// Returns:     a row {id, chunks} per entity.
UNWIND $keys AS key
MATCH (e:Entity {key: key})
CALL (e) {
  MATCH (e)<-[:MENTIONS]-(chunk:Chunk)<-[:HAS_CHUNK]-(s:Source)
  WHERE ($audiences IS NULL OR chunk.audience IN $audiences)
    AND all(c IN $conditions WHERE any(value IN [] + coalesce(s[c.field], []) WHERE
      (c.values IS NULL OR value IN c.values) AND (c.gte IS NULL OR value >= c.gte)
      AND (c.lte IS NULL OR value <= c.lte)))
  WITH chunk ORDER BY coalesce(chunk.order_id, chunk.id) LIMIT $limit
  RETURN collect(chunk.id) AS chunks
}
RETURN collect({id: e.id, chunks: chunks}) AS rows
