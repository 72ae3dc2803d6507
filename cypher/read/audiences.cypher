// Purpose:     who belongs to these audiences.
// Parameters:  $keys LIST<STRING>: audience keys.
// Returns:     a row {key, subjects} per audience.
UNWIND $keys AS key
MATCH (a:Audience {key: key})
RETURN collect({key: a.key, subjects: a.subjects}) AS rows
