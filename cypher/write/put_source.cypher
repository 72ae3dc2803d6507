// Purpose:     write a source's own row.
// Parameters:  $key STRING; $values MAP: its properties, `metadata.<name>` among them as lists; $tenant,
//              $audience STRING; $subjects LIST<STRING>.
// Needs:       constraints source_key and audience_key.
// Idempotence: MERGE on the keys; replaces all values, so that metadata no longer named goes.
MERGE (a:Audience {key: $audience})
SET a.tenant = $tenant, a.subjects = $subjects
MERGE (s:Source {key: $key})
SET s = $values
