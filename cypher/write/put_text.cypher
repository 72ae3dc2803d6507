// Purpose:     store the parsed text of a source or of a run, in pieces, in place of what was stored.
// Parameters:  $owner STRING: key of the Source or IndexRun; $tenant STRING; $rows LIST<MAP {key, part, sha256, data, bytes}>.
// Needs:       constraint source_text_key.
// Idempotence: MERGE on the keys; sets values; pieces beyond the last are removed.
OPTIONAL MATCH (s:Source {key: $owner})
OPTIONAL MATCH (r:IndexRun {key: $owner})
WITH coalesce(s, r) AS owner
CALL (owner) {
  MATCH (owner)-[:HAS_TEXT]->(old:SourceText)
  WHERE NOT old.key IN [row IN $rows | row.key]
  DETACH DELETE old
}
UNWIND $rows AS row
MERGE (t:SourceText {key: row.key})
SET t.tenant = $tenant, t.part = row.part, t.sha256 = row.sha256, t.data = row.data, t.bytes = row.bytes
MERGE (owner)-[:HAS_TEXT]->(t)
