// Purpose:     say who may read these chunks.
// Parameters:  $tenant STRING; $audience STRING; $subjects LIST<STRING>; $keys LIST<STRING>: chunk keys, sorted.
// Needs:       constraints audience_key and chunk_key.
// Idempotence: MERGE on the key; sets values.
MERGE (a:Audience {key: $audience})
ON CREATE SET a.tenant = $tenant, a.subjects = $subjects
WITH a
UNWIND $keys AS key
MATCH (c:Chunk {key: key})
SET c.audience = a.key
