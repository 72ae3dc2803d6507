// Purpose:     the audiences that a reader with these auth subjects belongs to.
// Parameters:  $tenant STRING; $subjects LIST<STRING>.
// Returns:     a row {key} per audience.
MATCH (a:Audience {tenant: $tenant})
WHERE any(subject IN a.subjects WHERE subject IN $subjects)
RETURN collect({key: a.key}) AS rows
