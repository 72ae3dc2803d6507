// Purpose:     store the parsed texts of sources or runs, in pieces, in place of what was stored.
// Parameters:  $tenant STRING; $texts LIST<MAP {owner, rows: LIST<MAP {key, part, sha256, data, bytes}>}>: owner is the key
//              of the Source or IndexRun.
// Needs:       constraints source_key, index_run_key and source_text_key.
// Idempotence: MERGE on the keys; sets values; pieces beyond the last are removed.
UNWIND $texts AS text
OPTIONAL MATCH (s:Source {key: text.owner})
OPTIONAL MATCH (r:IndexRun {key: text.owner})
WITH text, coalesce(s, r) AS owner
CALL (owner, text) {
  MATCH (owner)-[:HAS_TEXT]->(old:SourceText)
  WHERE NOT old.key IN [row IN text.rows | row.key]
  DETACH DELETE old
}
UNWIND text.rows AS row
MERGE (t:SourceText {key: row.key})
SET t.tenant = $tenant, t.part = row.part, t.sha256 = row.sha256, t.data = row.data, t.bytes = row.bytes
MERGE (owner)-[:HAS_TEXT]->(t)
