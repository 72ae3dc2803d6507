// Purpose:     every audience of a tenant.
// Parameters:  $tenant STRING.
// Needs:       index audience_tenant.
// Returns:     a row {key} per audience.
MATCH (a:Audience {tenant: $tenant})
RETURN collect({key: a.key}) AS rows
