// Purpose:     how much a tenant has.
// Parameters:  $tenant STRING.
// Needs:       indexes source_order, chunk_embedding, entity_id and fact_id, which ask for all their properties.
// Returns:     one row {sources, chunks, entities, relationships}.
CALL () { MATCH (s:Source {tenant: $tenant}) WHERE s.type IS NOT NULL AND s.id IS NOT NULL RETURN count(s) AS sources }
CALL () { MATCH (c:Chunk {tenant: $tenant}) WHERE c.embedding_key IS NOT NULL RETURN count(c) AS chunks }
CALL () { MATCH (e:Entity {tenant: $tenant}) USING INDEX e:Entity(tenant, id) WHERE e.id IS NOT NULL RETURN count(e) AS entities }
CALL () { MATCH (f:Fact {tenant: $tenant}) WHERE f.id IS NOT NULL RETURN count(f) AS relationships }
RETURN sources, chunks, entities, relationships
