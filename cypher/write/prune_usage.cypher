// Purpose:     remove a batch of the usage of days long past; repeated until none is left.
// Parameters:  $before STRING: the first day that is kept, YYYY-MM-DD; $limit INTEGER.
// Needs:       index usage_day.
// Idempotence: a run that finds nothing changes nothing.
// Returns:     one row {deleted}.
MATCH (u:Usage)
WHERE u.day < $before
WITH u LIMIT $limit
DETACH DELETE u
RETURN count(*) AS deleted
