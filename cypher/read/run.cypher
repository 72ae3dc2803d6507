// Purpose:     one run.
// Parameters:  $key STRING.
// Returns:     one row {run}, or none.
MATCH (r:IndexRun {key: $key})
RETURN properties(r) AS run
