// Purpose:     a page of entities whose normalised name starts with a prefix, in order of (name, id).
// Parameters:  $tenant STRING; $prefix STRING; $after_name, $after_id STRING ('' for the first page); $limit INTEGER.
// Returns:     a row {key, name_key, id} per entity.
MATCH (e:Entity {tenant: $tenant})
WHERE e.name_key STARTS WITH $prefix AND e.name_key >= $after_name
  AND (e.name_key > $after_name OR e.id > $after_id)
RETURN e.key AS key, e.name_key AS name_key, e.id AS id
ORDER BY e.name_key, e.id LIMIT $limit
