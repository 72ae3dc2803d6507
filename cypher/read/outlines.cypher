// Purpose:     the first of the visible sources, in order of (type, id), with what is seen of them unopened.
// Parameters:  $tenant STRING; $limit INTEGER; $subjects, $conditions as in read/source.
// Needs:       index source_order, whose order, by code points, is that of the list. A reader of few sources costs a look
//              at each of the tenant: 0.1 s at 100,000.
// Returns:     rows {type, id, title, headings}.
CALL () {
  MATCH (s:Source {tenant: $tenant})
  WHERE s.type IS NOT NULL AND s.id IS NOT NULL
    AND ($subjects IS NULL OR any(subject IN s.subjects WHERE subject IN $subjects))
    AND all(c IN $conditions WHERE any(value IN [] + coalesce(s[c.field], []) WHERE
      (c.values IS NULL OR value IN c.values) AND (c.gte IS NULL OR value >= c.gte)
      AND (c.lte IS NULL OR value <= c.lte)))
  RETURN s ORDER BY s.tenant, s.type, s.id LIMIT $limit
}
RETURN collect({type: s.type, id: s.id, title: s.title, headings: coalesce(s.headings, [])}) AS rows
