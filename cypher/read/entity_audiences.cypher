// Purpose:     which audiences know of these entities.
// Parameters:  $keys LIST<STRING>.
// Returns:     a row {id, audiences} per entity that exists.
UNWIND $keys AS key
MATCH (e:Entity {key: key})
WHERE e.seen_audiences IS NOT NULL
RETURN collect({id: e.id, audiences: e.seen_audiences}) AS rows
