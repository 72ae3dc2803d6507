// Purpose:     one node or edge per key, enforced by the database; every key is computed in domain/ids.py.
// Parameters:  none. Statements are parted by semicolons and run in order, each safe to repeat.
CREATE CONSTRAINT tenant_key IF NOT EXISTS FOR (n:Tenant) REQUIRE n.key IS UNIQUE;
CREATE CONSTRAINT source_key IF NOT EXISTS FOR (n:Source) REQUIRE n.key IS UNIQUE;
CREATE CONSTRAINT source_guard_key IF NOT EXISTS FOR (n:SourceGuard) REQUIRE n.key IS UNIQUE;
CREATE CONSTRAINT source_text_key IF NOT EXISTS FOR (n:SourceText) REQUIRE n.key IS UNIQUE;
CREATE CONSTRAINT chunk_key IF NOT EXISTS FOR (n:Chunk) REQUIRE n.key IS UNIQUE;
CREATE CONSTRAINT entity_key IF NOT EXISTS FOR (n:Entity) REQUIRE n.key IS UNIQUE;
CREATE CONSTRAINT fact_key IF NOT EXISTS FOR (n:Fact) REQUIRE n.key IS UNIQUE;
CREATE CONSTRAINT audience_key IF NOT EXISTS FOR (n:Audience) REQUIRE n.key IS UNIQUE;
CREATE CONSTRAINT index_run_key IF NOT EXISTS FOR (n:IndexRun) REQUIRE n.key IS UNIQUE;
CREATE CONSTRAINT vector_sync_key IF NOT EXISTS FOR (n:VectorSync) REQUIRE n.key IS UNIQUE;
CREATE CONSTRAINT api_key_key IF NOT EXISTS FOR (n:ApiKey) REQUIRE n.key IS UNIQUE;
CREATE CONSTRAINT api_key_hash IF NOT EXISTS FOR (n:ApiKey) REQUIRE n.hash IS UNIQUE;
CREATE CONSTRAINT key_guard_key IF NOT EXISTS FOR (n:KeyGuard) REQUIRE n.key IS UNIQUE;
CREATE CONSTRAINT relates_key IF NOT EXISTS FOR ()-[r:RELATES]-() REQUIRE r.key IS UNIQUE;
