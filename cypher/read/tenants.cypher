// Purpose:     the names of all tenants.
// Parameters:  none.
// Returns:     a row {tenant} per tenant, sorted.
MATCH (t:Tenant)
RETURN t.tenant AS tenant ORDER BY tenant
