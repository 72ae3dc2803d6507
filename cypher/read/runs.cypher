// Purpose:     a page of a tenant's runs, newest first.
// Parameters:  $tenant STRING; $before STRING: a run id, or a text beyond all ids; $limit INTEGER.
// Returns:     a row {run} per run.
MATCH (r:IndexRun {tenant: $tenant})
WHERE r.id < $before
RETURN properties(r) AS run ORDER BY r.id DESC LIMIT $limit
