// Purpose:     a page of the visible sources, in order of (type, id).
// Parameters:  $tenant STRING; $after_type, $after_id STRING ('' for the first page); $limit INTEGER; $subjects,
//              $conditions as in read/entities_filtered.
// Returns:     a row {source, chunks} per source.
MATCH (s:Source {tenant: $tenant})
WHERE s.type >= $after_type AND (s.type > $after_type OR s.id > $after_id)
  AND ($subjects IS NULL OR any(subject IN s.subjects WHERE subject IN $subjects))
  AND all(c IN $conditions WHERE any(value IN [] + coalesce(s[c.field], []) WHERE
    (c.values IS NULL OR value IN c.values) AND (c.gte IS NULL OR value >= c.gte) AND (c.lte IS NULL OR value <= c.lte)))
WITH s ORDER BY s.type, s.id LIMIT $limit
RETURN properties(s) AS source, COUNT { (s)-[:HAS_CHUNK]->() } AS chunks
ORDER BY s.type, s.id
