// Purpose:     a page of the visible chunks that name an entity.
// Parameters:  $key STRING; $after STRING ('' for the first page); $limit INTEGER; $subjects, $conditions as in
//              read/entities_filtered.
// Returns:     a row {chunk_id, name, surface_forms, description} per chunk, by id.
MATCH (e:Entity {key: $key})<-[m:MENTIONS]-(c:Chunk)<-[:HAS_CHUNK]-(s:Source)
WHERE c.id > $after AND ($subjects IS NULL OR any(subject IN s.subjects WHERE subject IN $subjects))
  AND all(c IN $conditions WHERE any(value IN [] + coalesce(s[c.field], []) WHERE
    (c.values IS NULL OR value IN c.values) AND (c.gte IS NULL OR value >= c.gte) AND (c.lte IS NULL OR value <= c.lte)))
RETURN c.id AS chunk_id, m.name AS name, m.surface_forms AS surface_forms, m.description AS description
ORDER BY c.id LIMIT $limit
