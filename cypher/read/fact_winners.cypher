// Purpose:     whether evidence of an audience still says what won for a relationship (after a removal of some that did).
// Parameters:  $rows LIST<MAP {key, audience, description}>; descriptions are not empty.
// Returns:     a row {key, audience, kept} per row. The search stops at the first hit, which in a hub comes early.
UNWIND $rows AS row
MATCH (f:Fact {key: row.key})
RETURN row.key AS key, row.audience AS audience,
  EXISTS {
    MATCH (c:Chunk)-[a:ASSERTS]->(f) WHERE a.description = row.description AND c.audience = row.audience
  } AS kept
