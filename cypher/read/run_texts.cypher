// Purpose:     the texts that came with runs.
// Parameters:  $keys LIST<STRING>: run keys.
// Needs:       constraint index_run_key.
// Returns:     a row {owner, part, sha256, data} per piece, by owner and in order.
UNWIND $keys AS key
MATCH (r:IndexRun {key: key})-[:HAS_TEXT]->(t:SourceText)
WITH r, t ORDER BY r.key, t.part
RETURN collect({owner: r.key, part: t.part, sha256: t.sha256, data: t.data}) AS rows
