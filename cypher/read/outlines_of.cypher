// Purpose:     sources by their keys, where visible, with what is seen of them unopened.
// Parameters:  $keys LIST<STRING>; $subjects, $conditions as in read/source.
// Needs:       constraint source_key.
// Returns:     rows {type, id, title, headings}, in no order.
UNWIND $keys AS key
MATCH (s:Source {key: key})
WHERE ($subjects IS NULL OR any(subject IN s.subjects WHERE subject IN $subjects))
  AND all(c IN $conditions WHERE any(value IN [] + coalesce(s[c.field], []) WHERE
    (c.values IS NULL OR value IN c.values) AND (c.gte IS NULL OR value >= c.gte)
    AND (c.lte IS NULL OR value <= c.lte)))
RETURN collect({type: s.type, id: s.id, title: s.title, headings: coalesce(s.headings, [])}) AS rows
