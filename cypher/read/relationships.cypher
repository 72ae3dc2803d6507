// Purpose:     these relationships, with the visible evidence of each.
// Parameters:  $keys LIST<STRING>; $chunk_limit INTEGER; $audiences, $conditions as in read/entities_filtered.
// Returns:     a row {id, type, from_id, to_id, weight, descriptions, chunks} per relationship with visible evidence;
//              descriptions are distinct, chunks the first by id.
UNWIND $keys AS key
MATCH (a:Entity)-[r:RELATES {key: key}]->(b:Entity)
CALL (r) {
  MATCH (:Fact {key: r.key})<-[said:ASSERTS]-(chunk:Chunk)<-[:HAS_CHUNK]-(s:Source)
  WHERE ($audiences IS NULL OR chunk.audience IN $audiences)
    AND all(c IN $conditions WHERE any(value IN [] + coalesce(s[c.field], []) WHERE
      (c.values IS NULL OR value IN c.values) AND (c.gte IS NULL OR value >= c.gte)
      AND (c.lte IS NULL OR value <= c.lte)))
  WITH chunk, said ORDER BY coalesce(chunk.order_id, chunk.id)
  RETURN count(said) AS weight, collect(DISTINCT said.description) AS descriptions, collect(chunk.id)[..$chunk_limit] AS chunks
}
WITH a, b, r, weight, descriptions, chunks WHERE weight > 0
RETURN collect({id: r.id, type: r.type, from_id: a.id, to_id: b.id, weight: weight,
  descriptions: descriptions, chunks: chunks}) AS rows
