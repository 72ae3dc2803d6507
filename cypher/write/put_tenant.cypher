// Purpose:     create a tenant or replace its settings.
// Parameters:  $key, $tenant STRING; $settings STRING: JSON.
// Needs:       constraint tenant_key.
// Idempotence: MERGE on the key; sets values.
MERGE (t:Tenant {key: $key})
SET t.tenant = $tenant, t.settings = $settings
