// Purpose:     store an API key's hash and rights, and for good that there was a key.
// Parameters:  $tenant_key, $key, $guard STRING: keys of nodes; $values MAP {id, hash, tenant, scopes, subjects, name}.
// Needs:       constraints api_key_key, api_key_hash and key_guard_key.
// Idempotence: MERGE on the key; sets values.
// Returns:     one row {stored}; 0 means that the tenant does not exist.
MATCH (t:Tenant {key: $tenant_key})
MERGE (g:KeyGuard {key: $guard})  // stays when the last key goes
MERGE (k:ApiKey {key: $key})
SET k += $values
RETURN count(k) AS stored
