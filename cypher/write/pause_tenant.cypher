// Purpose:     note that no run of a tenant is to be started, or that they are again.
// Parameters:  $key STRING: the tenant's key; $paused BOOLEAN: true or null.
// Needs:       constraint tenant_key.
// Idempotence: sets a value.
// Returns:     one row {tenant}; none means that the tenant does not exist.
MATCH (t:Tenant {key: $key})
SET t.paused = $paused
RETURN t.tenant AS tenant
