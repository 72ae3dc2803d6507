// Purpose:     have sources for oneself for as long as this transaction is open, and see which runs are still to be done.
// Parameters:  $keys LIST<STRING>: keys of sources, sorted; $runs LIST<STRING>: keys of runs.
// Needs:       constraint source_guard_key: to merge a key under it locks that key, whether there is a node or not.
// Idempotence: the transaction is rolled back, so that no node stays.
// Returns:     a row {key} per open run.
CALL () {
  UNWIND $keys AS key
  MERGE (g:SourceGuard {key: key})
  RETURN count(g) AS held
}
WITH held  // read only what was written before the locks were had
UNWIND $runs AS run
MATCH (r:IndexRun {key: run})
WHERE r.open
RETURN collect({key: r.key}) AS rows
