// Purpose:     the API key whose secret has this hash.
// Parameters:  $hash STRING.
// Returns:     one row {key}, or none.
MATCH (k:ApiKey {hash: $hash})
RETURN properties(k) AS key
