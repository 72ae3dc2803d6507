// Purpose:     one source, if the view shows it.
// Parameters:  $key STRING; $subjects LIST<STRING> or null (all): who reads; $conditions as in read/entities_filtered.
// Returns:     one row {source, chunks}, or none.
MATCH (s:Source {key: $key})
WHERE ($subjects IS NULL OR any(subject IN s.subjects WHERE subject IN $subjects))
  AND all(c IN $conditions WHERE any(value IN [] + coalesce(s[c.field], []) WHERE
    (c.values IS NULL OR value IN c.values) AND (c.gte IS NULL OR value >= c.gte) AND (c.lte IS NULL OR value <= c.lte)))
RETURN properties(s) AS source, COUNT { (s)-[:HAS_CHUNK]->() } AS chunks
