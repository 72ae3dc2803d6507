// Purpose:     changes that the vector store has not followed yet, oldest first.
// Parameters:  $tenant STRING; $limit INTEGER.
// Returns:     a row {id, entities, relationships} per change.
MATCH (s:VectorSync {tenant: $tenant})
WHERE s.id IS NOT NULL
RETURN s.id AS id, s.entities AS entities, s.relationships AS relationships
ORDER BY s.id LIMIT $limit
