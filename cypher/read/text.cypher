// Purpose:     the parsed text of a source or of a run.
// Parameters:  $owner STRING: key of the Source or IndexRun.
// Returns:     a row {part, sha256, data} per piece, in order.
OPTIONAL MATCH (s:Source {key: $owner})
OPTIONAL MATCH (r:IndexRun {key: $owner})
WITH coalesce(s, r) AS owner
MATCH (owner)-[:HAS_TEXT]->(t:SourceText)
RETURN t.part AS part, t.sha256 AS sha256, t.data AS data ORDER BY part
