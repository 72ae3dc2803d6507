// Purpose:     the distinct audiences of a tenant.
// Parameters:  $tenant STRING.
// Returns:     a row {key, subjects} per audience.
MATCH (a:Audience {tenant: $tenant})
RETURN a.key AS key, a.subjects AS subjects
