// Purpose:     remove a batch of a tenant's rows of one label; repeated until none is left.
// Parameters:  $tenant STRING; $label STRING: a label of the platform; $limit INTEGER.
// Idempotence: a run that finds nothing changes nothing.
// Returns:     one row {deleted}.
MATCH (n:$($label) {tenant: $tenant})
WITH n LIMIT $limit
DETACH DELETE n
RETURN count(*) AS deleted
