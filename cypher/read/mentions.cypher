// Purpose:     a page of the visible chunks that name an entity.
// Parameters:  $key STRING; $after STRING: order of the last one seen ('' for the first page); $limit INTEGER; $audiences, $conditions as in
//              read/entities_filtered.
// Returns:     a row {chunk_id, name, surface_forms, description} per chunk, by id.
MATCH (e:Entity {key: $key})<-[m:MENTIONS]-(chunk:Chunk)<-[:HAS_CHUNK]-(s:Source)
WHERE coalesce(chunk.order_id, chunk.id) > $after AND ($audiences IS NULL OR chunk.audience IN $audiences)
  AND all(c IN $conditions WHERE any(value IN [] + coalesce(s[c.field], []) WHERE
    (c.values IS NULL OR value IN c.values) AND (c.gte IS NULL OR value >= c.gte) AND (c.lte IS NULL OR value <= c.lte)))
RETURN chunk.id AS chunk_id, m.name AS name, m.surface_forms AS surface_forms, m.description AS description
ORDER BY coalesce(chunk.order_id, chunk.id) LIMIT $limit
