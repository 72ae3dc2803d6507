// Purpose:     remove an API key.
// Parameters:  $key STRING.
// Idempotence: a second run finds nothing.
// Returns:     one row {deleted}.
OPTIONAL MATCH (k:ApiKey {key: $key})
WITH k, count(k) AS deleted
DETACH DELETE k
RETURN deleted
