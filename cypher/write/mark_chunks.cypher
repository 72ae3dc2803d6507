// Purpose:     say under which key a chunk's evidence is stored, in the same transaction as the evidence.
// Parameters:  $rows LIST<MAP {key, extraction_key, extraction_state, evidence_seal}>, sorted by key; a null key: no
//              evidence. The seal counts and hashes what the chunk says, so that evidence that went missing shows.
// Needs:       constraint chunk_key.
// Idempotence: sets values.
UNWIND $rows AS row
MATCH (c:Chunk {key: row.key})
SET c.extraction_key = row.extraction_key, c.extraction_state = row.extraction_state, c.evidence_seal = row.evidence_seal
