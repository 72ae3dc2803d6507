// Purpose:     what each audience knows of these entities.
// Parameters:  $keys LIST<STRING>.
// Returns:     a row {id, type, audiences, counts, names, descriptions} per entity that exists.
UNWIND $keys AS key
MATCH (e:Entity {key: key})
RETURN e.id AS id, e.type AS type, e.seen_audiences AS audiences, e.seen_counts AS counts,
       e.seen_names AS names, e.seen_descriptions AS descriptions
