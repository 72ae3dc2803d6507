// Purpose:     what each audience knows of these entities.
// Parameters:  $keys LIST<STRING>.
// Returns:     a row {id, type, audiences, counts, names, descriptions} per entity that exists.
UNWIND $keys AS key
MATCH (e:Entity {key: key})
RETURN collect({id: e.id, type: e.type, audiences: e.seen_audiences, counts: e.seen_counts,
  names: e.seen_names, descriptions: e.seen_descriptions}) AS rows
