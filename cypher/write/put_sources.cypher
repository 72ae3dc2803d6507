// Purpose:     write the rows of sources.
// Parameters:  $tenant STRING; $rows LIST<MAP {key, audience, subjects, values, headings}>, sorted by key; values are all
//              properties but headings, `metadata.<name>` among them as lists; headings null keeps those stored.
// Needs:       constraints source_key and audience_key.
// Idempotence: MERGE on the keys; replaces all values, so that metadata no longer named goes.
UNWIND $rows AS row
MERGE (a:Audience {key: row.audience})
ON CREATE SET a.tenant = $tenant, a.subjects = row.subjects
MERGE (s:Source {key: row.key})
WITH s, row, coalesce(row.headings, s.headings, []) AS headings
SET s = row.values, s.headings = headings
