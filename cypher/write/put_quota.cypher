// Purpose:     set what a tenant may use.
// Parameters:  $key STRING; $quota STRING: JSON, or null: as much as it likes.
// Needs:       constraint tenant_key.
// Idempotence: sets a value.
// Returns:     one row {found}: how many tenants have the key.
MATCH (t:Tenant {key: $key})
SET t.quota = $quota
RETURN count(t) AS found
