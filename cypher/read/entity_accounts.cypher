// Purpose:     what each audience knows of these entities, by all the evidence there is.
// Parameters:  $keys LIST<STRING>: entity keys.
// Needs:       constraint entity_key.
// Returns:     a row {key, audience, count, names, descriptions} per entity and audience: distinct names, and the distinct
//              longest descriptions; the domain picks the winner. None for an entity without evidence.
UNWIND $keys AS key
MATCH (e:Entity {key: key})
CALL (e) {
  MATCH (c:Chunk)-[m:MENTIONS]->(e)
  WITH c.audience AS audience, collect(m) AS mentions
  WITH audience, mentions, reduce(longest = 0, m IN mentions |
    CASE WHEN m.description_chars > longest THEN m.description_chars ELSE longest END) AS longest
  UNWIND mentions AS m
  RETURN audience, count(m) AS count, collect(DISTINCT m.name) AS names,
         collect(DISTINCT CASE WHEN m.description_chars = longest THEN m.description END) AS descriptions
}
RETURN collect({key: key, audience: audience, count: count, names: names, descriptions: descriptions}) AS rows
