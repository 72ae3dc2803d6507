// Purpose:     note that the sources of a tenant follow these settings, unless they have changed since.
// Parameters:  $key STRING: the tenant's key; $settings STRING: JSON.
// Needs:       constraint tenant_key.
// Idempotence: removes a value.
MATCH (t:Tenant {key: $key})
SET t.settings = t.settings  // takes the write lock: the settings are compared only after it
WITH t WHERE t.settings = $settings
SET t.settings_due = null
