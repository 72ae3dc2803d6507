// Purpose:     a page of a tenant's entities as they are stored: for verify.
// Parameters:  $after, $until STRING: keys between which the page lies; $limit INTEGER.
// Needs:       constraint entity_key, whose order is that of the pages.
// Returns:     a row {key, id, tenant, name, description, total, audiences, counts, names, descriptions} per entity.
MATCH (e:Entity)
WHERE $after < e.key < $until
WITH e ORDER BY e.key LIMIT $limit
RETURN collect({key: e.key, id: e.id, tenant: e.tenant, name: e.name, description: e.description, total: e.mentions,
  audiences: e.seen_audiences, counts: e.seen_counts, names: e.seen_names, descriptions: e.seen_descriptions}) AS rows
