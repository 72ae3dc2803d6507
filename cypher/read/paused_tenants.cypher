// Purpose:     the tenants of which no run is to be started.
// Parameters:  none.
// Returns:     a row {tenant} per tenant.
MATCH (t:Tenant)
WHERE t.paused
RETURN t.tenant AS tenant
