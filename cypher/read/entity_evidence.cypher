// Purpose:     what one audience knows of an entity, read again from all its evidence (after a removal took the winner).
// Parameters:  $rows LIST<MAP {key, audience}>; $wanted INTEGER: how many of the longest descriptions.
// Returns:     a row {key, audience, count, names, descriptions: LIST<[description, chunks that say it]>}: distinct names, and
//              all descriptions as long as the last one wanted, or longer; the domain picks the winner, so that one
//              order of strings rules everywhere.
UNWIND $rows AS row
MATCH (e:Entity {key: row.key})
CALL (e, row) {
  MATCH (c:Chunk)-[m:MENTIONS]->(e)
  WHERE c.audience = row.audience
  WITH m.name AS name, m.description AS description, m.description_chars AS chars, count(*) AS said
  ORDER BY chars DESC
  WITH sum(said) AS count, collect(DISTINCT name) AS names, collect([description, said, chars]) AS found
  WITH count, names, found, found[CASE WHEN size(found) < $wanted THEN -1 ELSE $wanted - 1 END][2] AS least
  RETURN count, names, [one IN found WHERE one[2] >= least | one[0..2]] AS descriptions
}
RETURN row.key AS key, row.audience AS audience, count, names, descriptions
