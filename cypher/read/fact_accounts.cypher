// Purpose:     what each audience knows of these facts, by all the evidence there is.
// Parameters:  $keys LIST<STRING>: fact keys.
// Needs:       constraint fact_key.
// Returns:     a row {key, audience, count, descriptions} per fact and audience: the distinct longest descriptions; the
//              domain picks the winner. None for a fact without evidence.
UNWIND $keys AS key
MATCH (f:Fact {key: key})
CALL (f) {
  MATCH (c:Chunk)-[a:ASSERTS]->(f)
  WITH c.audience AS audience, collect(a) AS assertions
  WITH audience, assertions, reduce(longest = 0, a IN assertions |
    CASE WHEN a.description_chars > longest THEN a.description_chars ELSE longest END) AS longest
  UNWIND assertions AS a
  RETURN audience, count(a) AS count,
         collect(DISTINCT CASE WHEN a.description_chars = longest THEN a.description END) AS descriptions
}
RETURN collect({key: key, audience: audience, count: count, descriptions: descriptions}) AS rows
