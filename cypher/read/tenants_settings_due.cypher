// Purpose:     the tenants whose sources are to follow a change of settings.
// Parameters:  none.
// Returns:     a row {tenant} per tenant.
MATCH (t:Tenant)
WHERE t.settings_due
RETURN t.tenant AS tenant
