// Purpose:     create a tenant or replace its settings; where it has sources, note that these are to follow the change.
// Parameters:  $key, $tenant STRING; $settings STRING: JSON.
// Needs:       constraint tenant_key, index source_order.
// Idempotence: MERGE on the key; sets values; the same settings again leave the note as it is.
MERGE (t:Tenant {key: $key})
SET t.tenant = $tenant
WITH t, t.settings <> $settings AND EXISTS { (s:Source {tenant: $tenant}) WHERE s.type IS NOT NULL AND s.id IS NOT NULL }
  AS due
SET t.settings = $settings, t.settings_due = CASE WHEN due THEN true ELSE t.settings_due END
