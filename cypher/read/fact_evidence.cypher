// Purpose:     what one audience knows of a relationship, read again from all its evidence (after a removal took the winner).
// Parameters:  $rows LIST<MAP {key, audience}>.
// Returns:     a row {key, audience, count, descriptions}: the distinct longest descriptions; the domain picks the winner.
UNWIND $rows AS row
MATCH (f:Fact {key: row.key})
CALL (f, row) {
  MATCH (c:Chunk)-[a:ASSERTS]->(f)
  WHERE c.audience = row.audience
  WITH collect(a) AS assertions
  WITH assertions, reduce(longest = 0, a IN assertions |
    CASE WHEN a.description_chars > longest THEN a.description_chars ELSE longest END) AS longest
  UNWIND assertions AS a
  RETURN count(a) AS count,
         collect(DISTINCT CASE WHEN a.description_chars = longest THEN a.description END) AS descriptions
}
RETURN row.key AS key, row.audience AS audience, count, descriptions
