// Purpose:     what each tenant may use that has a quota.
// Parameters:  none. Reads every tenant.
// Returns:     one row {rows: LIST<MAP {tenant, quota: JSON}>}.
MATCH (t:Tenant)
WHERE t.quota IS NOT NULL
RETURN collect(t {.tenant, .quota}) AS rows
