// Purpose:     a tenant's settings.
// Parameters:  $key STRING.
// Returns:     one row {settings}, or none.
MATCH (t:Tenant {key: $key})
RETURN t.settings AS settings
