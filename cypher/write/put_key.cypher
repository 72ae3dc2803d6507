// Purpose:     store an API key's hash and rights.
// Parameters:  $tenant_key STRING; $key STRING; $values MAP {id, hash, tenant, scopes, subjects, name}.
// Needs:       constraints api_key_key and api_key_hash.
// Idempotence: MERGE on the key; sets values.
// Returns:     one row {stored}; 0 means that the tenant does not exist.
MATCH (t:Tenant {key: $tenant_key})
MERGE (k:ApiKey {key: $key})
SET k += $values
RETURN count(k) AS stored
