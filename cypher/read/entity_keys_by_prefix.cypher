// Purpose:     a page of entities whose normalised name lies in a range, such as that of a prefix, by (name, id).
// Parameters:  $tenant STRING; $after_name, $after_id STRING: the last one seen; $until STRING: the last name to look at;
//              $limit INTEGER. A page starts at a name with $after_id ''.
// Needs:       index entity_name, whose order, by code points, is that of the pages; named, as the planner
//              would take entity_id for a small graph and sort.
// Returns:     a row {key, name_key, id} per entity.
CALL () {
  MATCH (e:Entity {tenant: $tenant, name_key: $after_name})
  USING INDEX e:Entity(tenant, name_key, id)
  WHERE e.id > $after_id
  RETURN e ORDER BY e.tenant, e.name_key, e.id LIMIT $limit
  UNION ALL
  MATCH (e:Entity {tenant: $tenant})
  USING INDEX e:Entity(tenant, name_key, id)
  WHERE $after_name < e.name_key <= $until AND e.id IS NOT NULL
  RETURN e ORDER BY e.tenant, e.name_key, e.id LIMIT $limit
}
RETURN e.key AS key, e.name_key AS name_key, e.id AS id LIMIT $limit
