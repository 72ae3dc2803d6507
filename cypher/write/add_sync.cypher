// Purpose:     note that the vector store must follow this transaction.
// Parameters:  $tenant STRING; $key STRING; $id STRING; $entities, $relationships LIST<STRING>: public ids.
// Needs:       constraint vector_sync_key.
// Idempotence: MERGE on the key; sets values.
MERGE (s:VectorSync {key: $key})
SET s.tenant = $tenant, s.id = $id, s.entities = $entities, s.relationships = $relationships
