// Purpose:     what one audience knows of a relationship, read again from all its evidence (after a removal took the winner).
// Parameters:  $rows LIST<MAP {key, audience}>; $wanted INTEGER: how many of the longest descriptions.
// Returns:     a row {key, audience, count, descriptions: LIST<[description, chunks that say it]>}: all descriptions as long
//              as the last one wanted, or longer; the domain picks the winner.
UNWIND $rows AS row
MATCH (f:Fact {key: row.key})
CALL (f, row) {
  MATCH (c:Chunk)-[a:ASSERTS]->(f)
  WHERE c.audience = row.audience
  WITH a.description AS description, a.description_chars AS chars, count(*) AS said
  ORDER BY chars DESC
  WITH sum(said) AS count, collect([description, said, chars]) AS found
  WITH count, found, found[CASE WHEN size(found) < $wanted THEN -1 ELSE $wanted - 1 END][2] AS least
  RETURN count, [one IN found WHERE one[2] >= least | one[0..2]] AS descriptions
}
RETURN row.key AS key, row.audience AS audience, count, descriptions
