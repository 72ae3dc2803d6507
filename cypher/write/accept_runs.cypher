// Purpose:     record accepted requests, durably, before they are answered.
// Parameters:  $tenant, $tenant_key STRING; $rows LIST<MAP {key, values}>, sorted by key.
// Needs:       constraints tenant_key and index_run_key.
// Idempotence: MERGE on the key; a run keeps what a worker recorded since.
// Returns:     a row {key, open} per run; none means that the tenant does not exist. A run that is over is not open.
MATCH (t:Tenant {key: $tenant_key})
UNWIND $rows AS row
MERGE (r:IndexRun {key: row.key})
ON CREATE SET r = row.values, r.key = row.key, r.tenant = $tenant
RETURN row.key AS key, r.open IS NOT NULL AS open
