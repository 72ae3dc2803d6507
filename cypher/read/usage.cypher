// Purpose:     usage of a tenant on some days.
// Parameters:  $tenant STRING; $since, $until STRING: the first and the last day, YYYY-MM-DD.
// Needs:       index usage_tenant.
// Returns:     one row {rows: LIST<MAP {tenant, day, mode, model, queries, input_tokens, output_tokens}>}, in no order.
MATCH (u:Usage {tenant: $tenant})
WHERE $since <= u.day <= $until
RETURN collect(u {.tenant, .day, .mode, .model, .queries, .input_tokens, .output_tokens}) AS rows
