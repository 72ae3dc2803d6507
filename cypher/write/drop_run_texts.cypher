// Purpose:     let go of the texts of runs that are over, and of what only they said.
// Parameters:  $keys LIST<STRING>: run keys.
// Idempotence: a second run finds nothing.
UNWIND $keys AS key
MATCH (r:IndexRun {key: key})
REMOVE r.source, r.change
WITH r
MATCH (r)-[:HAS_TEXT]->(t:SourceText)
DETACH DELETE t
