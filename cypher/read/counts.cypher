// Purpose:     how much a tenant has.
// Parameters:  $tenant STRING.
// Returns:     one row {sources, chunks, entities, relationships}.
CALL () { MATCH (s:Source {tenant: $tenant}) RETURN count(s) AS sources }
CALL () { MATCH (c:Chunk {tenant: $tenant}) WHERE c.embedding_key >= '' RETURN count(c) AS chunks }
CALL () { MATCH (e:Entity {tenant: $tenant}) WHERE e.id >= '' RETURN count(e) AS entities }
CALL () { MATCH (f:Fact {tenant: $tenant}) WHERE f.id >= '' RETURN count(f) AS relationships }
RETURN sources, chunks, entities, relationships
