// Purpose:     the names of all tenants.
// Parameters:  none.
// Returns:     a row {tenant} per tenant.
MATCH (t:Tenant)
RETURN t.tenant AS tenant
