// Purpose:     runs of all tenants that are not over, in order of acceptance.
// Parameters:  $after STRING: a run id, '' for the first page; $limit INTEGER.
// Returns:     a row {run} per run.
MATCH (r:IndexRun {open: true})
WHERE r.id > $after
RETURN properties(r) AS run ORDER BY r.id LIMIT $limit
