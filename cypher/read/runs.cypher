// Purpose:     a page of a tenant's runs, newest first: all, or those that some readers may be told of.
// Parameters:  $tenant STRING; $before STRING: a run id, or a text beyond all ids; $limit INTEGER; $subjects LIST<STRING> or
//              null (all runs); $others LIST<STRING>: ids of runs that are told of whatever they are about.
// Needs:       indexes index_run_tenant and source_order. A reader of few sources costs a look at each run of the tenant.
// Returns:     a row {run} per run.
MATCH (r:IndexRun {tenant: $tenant})
WHERE r.id < $before AND ($subjects IS NULL OR r.open IS NOT NULL OR r.id IN $others OR EXISTS {
  MATCH (s:Source {tenant: $tenant, type: r.source_type, id: r.source_id})
  WHERE any(subject IN s.subjects WHERE subject IN $subjects)
})
RETURN properties(r) AS run ORDER BY r.id DESC LIMIT $limit
