// Purpose:     say under which key a chunk's evidence is stored, in the same transaction as the evidence.
// Parameters:  $rows LIST<MAP {key, extraction_key, extraction_state, evidence_seal, failed_id, error_code, error}>, sorted
//              by key; a null extraction_key: no evidence. The seal counts and hashes what the chunk says, so that evidence
//              that went missing shows. failed_id is the chunk's id in index order where its extraction failed, else null.
// Needs:       constraint chunk_key.
// Idempotence: sets values, but for the count of failed attempts under a key, which goes up by one a run.
UNWIND $rows AS row
MATCH (c:Chunk {key: row.key})
SET c.extraction_attempts = CASE
      WHEN row.failed_id IS NULL THEN null
      WHEN c.failed_id IS NOT NULL AND c.extraction_key = row.extraction_key THEN c.extraction_attempts + 1
      ELSE 1
    END,
    c.failed_id = row.failed_id, c.extraction_error_code = row.error_code, c.extraction_error = row.error
SET c.extraction_key = row.extraction_key, c.extraction_state = row.extraction_state, c.evidence_seal = row.evidence_seal
