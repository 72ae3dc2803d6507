// Purpose:     usage of all tenants from a day on: what quotas are counted from.
// Parameters:  $day STRING: YYYY-MM-DD.
// Needs:       index usage_day.
// Returns:     one row {rows: LIST<MAP {tenant, day, mode, model, queries, input_tokens, output_tokens}>}, in no order.
MATCH (u:Usage)
WHERE u.day >= $day
RETURN collect(u {.tenant, .day, .mode, .model, .queries, .input_tokens, .output_tokens}) AS rows
