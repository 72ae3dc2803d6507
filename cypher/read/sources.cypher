// Purpose:     a page of the visible sources, in order of (type, id).
// Parameters:  $tenant STRING; $after_type, $after_id STRING: the last one seen ('' for the first page); $limit INTEGER;
//              $subjects, $conditions as in read/source.
// Needs:       index source_order, whose order, by code points, is that of the pages.
// Returns:     a row {source, chunks} per source.
CALL () {
  MATCH (s:Source {tenant: $tenant, type: $after_type})
  WHERE s.id > $after_id
    AND ($subjects IS NULL OR any(subject IN s.subjects WHERE subject IN $subjects))
    AND all(c IN $conditions WHERE any(value IN [] + coalesce(s[c.field], []) WHERE
      (c.values IS NULL OR value IN c.values) AND (c.gte IS NULL OR value >= c.gte)
      AND (c.lte IS NULL OR value <= c.lte)))
  RETURN s ORDER BY s.tenant, s.type, s.id LIMIT $limit
  UNION ALL
  MATCH (s:Source {tenant: $tenant})
  WHERE s.type > $after_type AND s.id IS NOT NULL
    AND ($subjects IS NULL OR any(subject IN s.subjects WHERE subject IN $subjects))
    AND all(c IN $conditions WHERE any(value IN [] + coalesce(s[c.field], []) WHERE
      (c.values IS NULL OR value IN c.values) AND (c.gte IS NULL OR value >= c.gte)
      AND (c.lte IS NULL OR value <= c.lte)))
  RETURN s ORDER BY s.tenant, s.type, s.id LIMIT $limit
}
WITH s LIMIT $limit
RETURN properties(s) AS source, COUNT { (s)-[:HAS_CHUNK]->() } AS chunks
