// Purpose:     record how far runs have come.
// Parameters:  $rows LIST<MAP {key, values: MAP {step, state, open, error_code, error, result}}>, sorted by key; a null
//              removes a property.
// Needs:       constraint index_run_key.
// Idempotence: sets values.
UNWIND $rows AS row
MATCH (r:IndexRun {key: row.key})
SET r += row.values
