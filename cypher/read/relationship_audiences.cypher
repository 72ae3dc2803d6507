// Purpose:     which audiences know of these relationships.
// Parameters:  $keys LIST<STRING>.
// Returns:     a row {id, audiences} per relationship that exists.
UNWIND $keys AS key
MATCH ()-[r:RELATES {key: key}]->()
RETURN collect({id: r.id, audiences: r.seen_audiences}) AS rows
