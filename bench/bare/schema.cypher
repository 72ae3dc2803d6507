// The constraints and indexes that our own labels have, on the bench's.
CREATE CONSTRAINT bare_chunk_key IF NOT EXISTS FOR (n:BareChunk) REQUIRE n.key IS UNIQUE;
CREATE CONSTRAINT bare_entity_key IF NOT EXISTS FOR (n:BareEntity) REQUIRE n.key IS UNIQUE;
CREATE CONSTRAINT bare_fact_key IF NOT EXISTS FOR (n:BareFact) REQUIRE n.key IS UNIQUE;
CREATE CONSTRAINT bare_relates_key IF NOT EXISTS FOR ()-[r:BARE_RELATES]-() REQUIRE r.key IS UNIQUE;
CREATE INDEX bare_entity_name IF NOT EXISTS FOR (n:BareEntity) ON (n.tenant, n.name_key, n.id);
CREATE INDEX bare_entity_id IF NOT EXISTS FOR (n:BareEntity) ON (n.tenant, n.id);
CREATE INDEX bare_fact_id IF NOT EXISTS FOR (n:BareFact) ON (n.tenant, n.id);
