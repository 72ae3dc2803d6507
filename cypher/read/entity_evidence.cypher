// Purpose:     what one audience knows of an entity, read again from all its evidence (after a removal took the winner).
// Parameters:  $rows LIST<MAP {key, audience}>.
// Returns:     a row {key, audience, count, names, descriptions}: distinct names, and the distinct longest descriptions;
//              the domain picks the winner, so that one order of strings rules everywhere.
UNWIND $rows AS row
MATCH (e:Entity {key: row.key})
CALL (e, row) {
  MATCH (c:Chunk)-[m:MENTIONS]->(e)
  WHERE c.audience = row.audience
  WITH collect(m) AS mentions
  WITH mentions, reduce(longest = 0, m IN mentions |
    CASE WHEN m.description_chars > longest THEN m.description_chars ELSE longest END) AS longest
  UNWIND mentions AS m
  RETURN count(m) AS count, collect(DISTINCT m.name) AS names,
         collect(DISTINCT CASE WHEN m.description_chars = longest THEN m.description END) AS descriptions
}
RETURN row.key AS key, row.audience AS audience, count, names, descriptions
