// Purpose:     a page of the chunks whose extraction failed, of visible sources, by id.
// Parameters:  $tenant STRING; $after STRING: the failed_id of the last one seen, '' for the first page; $limit INTEGER;
//              $subjects, $conditions as in read/source.
// Needs:       index chunk_failed, which holds failed chunks only, and whose order, by code points, is that of the pages.
// Returns:     a row {id, source_type, source_id, index, attempts, error_code, error} per chunk.
MATCH (c:Chunk {tenant: $tenant})
USING INDEX c:Chunk(tenant, failed_id)
WHERE c.failed_id > $after
MATCH (s:Source)-[:HAS_CHUNK]->(c)
WHERE ($subjects IS NULL OR any(subject IN s.subjects WHERE subject IN $subjects))
  AND all(c IN $conditions WHERE any(value IN [] + coalesce(s[c.field], []) WHERE
    (c.values IS NULL OR value IN c.values) AND (c.gte IS NULL OR value >= c.gte)
    AND (c.lte IS NULL OR value <= c.lte)))
WITH c, s ORDER BY c.tenant, c.failed_id LIMIT $limit
RETURN c.id AS id, s.type AS source_type, s.id AS source_id, c.index AS index,
       c.extraction_attempts AS attempts, c.extraction_error_code AS error_code, c.extraction_error AS error
