// Purpose:     record how far open runs have come; one that is over stays as it is.
// Parameters:  $rows LIST<MAP {key, values: MAP {step, state, open, error_code, error, result}}>, sorted by key; a null
//              removes a property.
// Needs:       constraint index_run_key.
// Idempotence: sets values.
UNWIND $rows AS row
MATCH (r:IndexRun {key: row.key})
WHERE r.open
SET r += row.values
