// Purpose:     a page of a tenant's facts, each with the relationship that stands for it: for verify.
// Parameters:  $after, $until STRING: keys between which the page lies; $limit INTEGER.
// Needs:       constraints fact_key, whose order is that of the pages, and relates_key.
// Returns:     a row {key, id, tenant, from_key, to_key, edge_tenant, edge_id, type, description, total, audiences, counts,
//              descriptions} per fact; nulls where there is no relationship.
MATCH (f:Fact)
WHERE $after < f.key < $until
WITH f ORDER BY f.key LIMIT $limit
OPTIONAL MATCH (a)-[r:RELATES {key: f.key}]->(b)
RETURN collect({key: f.key, id: f.id, tenant: f.tenant, from_key: a.key, to_key: b.key, edge_tenant: r.tenant,
  edge_id: r.id, type: r.type, description: r.description, total: r.weight, audiences: r.seen_audiences,
  counts: r.seen_counts, descriptions: r.seen_descriptions}) AS rows
