// Purpose:     which audiences know of these relationships.
// Parameters:  $keys LIST<STRING>.
// Returns:     a row {id, audiences} per relationship that exists.
UNWIND $keys AS key
MATCH ()-[r:RELATES {key: key}]->()
RETURN r.id AS id, r.seen_audiences AS audiences
