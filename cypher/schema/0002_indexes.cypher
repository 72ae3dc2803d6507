// Purpose:     the ways in that are not a key: names, reuse of results, pages in order.
// Parameters:  none. Statements are parted by semicolons and run in order, each safe to repeat.
CREATE INDEX entity_name IF NOT EXISTS FOR (n:Entity) ON (n.tenant, n.name_key, n.id);
CREATE INDEX entity_id IF NOT EXISTS FOR (n:Entity) ON (n.tenant, n.id);
CREATE INDEX fact_id IF NOT EXISTS FOR (n:Fact) ON (n.tenant, n.id);
CREATE INDEX source_order IF NOT EXISTS FOR (n:Source) ON (n.tenant, n.type, n.id);
CREATE INDEX chunk_embedding IF NOT EXISTS FOR (n:Chunk) ON (n.tenant, n.embedding_key);
CREATE INDEX chunk_extraction IF NOT EXISTS FOR (n:Chunk) ON (n.tenant, n.extraction_key);
CREATE INDEX chunk_failed IF NOT EXISTS FOR (n:Chunk) ON (n.tenant, n.failed_id);
CREATE INDEX source_text_tenant IF NOT EXISTS FOR (n:SourceText) ON (n.tenant);
CREATE INDEX community_tenant IF NOT EXISTS FOR (n:Community) ON (n.tenant);
CREATE INDEX skill_tenant IF NOT EXISTS FOR (n:Skill) ON (n.tenant);
CREATE INDEX usage_tenant IF NOT EXISTS FOR (n:Usage) ON (n.tenant);
CREATE INDEX audience_tenant IF NOT EXISTS FOR (n:Audience) ON (n.tenant);
CREATE INDEX index_run_tenant IF NOT EXISTS FOR (n:IndexRun) ON (n.tenant, n.id);
CREATE INDEX index_run_open IF NOT EXISTS FOR (n:IndexRun) ON (n.open, n.id);
CREATE INDEX vector_sync_tenant IF NOT EXISTS FOR (n:VectorSync) ON (n.tenant, n.id);
CREATE INDEX api_key_tenant IF NOT EXISTS FOR (n:ApiKey) ON (n.tenant);
