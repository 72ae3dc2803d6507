// Purpose:     the API keys of a tenant.
// Parameters:  $tenant STRING.
// Returns:     a row {key} per key.
MATCH (k:ApiKey {tenant: $tenant})
RETURN properties(k) AS key
