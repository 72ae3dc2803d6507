// Purpose:     write the rows of sources.
// Parameters:  $tenant STRING; $rows LIST<MAP {key, audience, subjects, values}>, sorted by key; values are all properties,
//              `metadata.<name>` among them as lists.
// Needs:       constraints source_key and audience_key.
// Idempotence: MERGE on the keys; replaces all values, so that metadata no longer named goes.
UNWIND $rows AS row
MERGE (a:Audience {key: row.audience})
ON CREATE SET a.tenant = $tenant, a.subjects = row.subjects
MERGE (s:Source {key: row.key})
SET s = row.values
