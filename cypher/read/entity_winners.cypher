// Purpose:     whether evidence of an audience still says what won for an entity (after a removal of some that did).
// Parameters:  $rows LIST<MAP {key, audience, name, description}>; a null name or description is not asked for.
// Returns:     a row {key, audience, kept} per row. The search stops at the first hit, which in a hub comes early.
UNWIND $rows AS row
MATCH (e:Entity {key: row.key})
RETURN row.key AS key, row.audience AS audience,
  (row.name IS NULL OR EXISTS {
    MATCH (c:Chunk)-[m:MENTIONS]->(e) WHERE m.name = row.name AND c.audience = row.audience
  }) AND (row.description IS NULL OR EXISTS {
    MATCH (c:Chunk)-[m:MENTIONS]->(e) WHERE m.description = row.description AND c.audience = row.audience
  }) AS kept
