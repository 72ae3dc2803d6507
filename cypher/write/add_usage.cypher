// Purpose:     add counts to those stored; rows of tenants that do not exist are left out.
// Parameters:  $rows LIST<MAP {key, tenant_key, tenant, day, mode, model, queries, input_tokens, output_tokens}>, sorted
//              by key; $batch STRING: what these counts are together.
// Needs:       constraints tenant_key and usage_key.
// Idempotence: a row remembers the batch that it took last, so that the same one again adds nothing.
UNWIND $rows AS row
MATCH (:Tenant {key: row.tenant_key})
MERGE (u:Usage {key: row.key})
ON CREATE SET u.queries = 0, u.input_tokens = 0, u.output_tokens = 0
SET u.tenant = row.tenant, u.day = row.day, u.mode = row.mode, u.model = row.model  // takes the write lock: counts are read after it
WITH u, row
WHERE u.batch IS NULL OR u.batch <> $batch
SET u.queries = u.queries + row.queries,
    u.input_tokens = u.input_tokens + row.input_tokens,
    u.output_tokens = u.output_tokens + row.output_tokens,
    u.batch = $batch
