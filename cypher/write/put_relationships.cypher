// Purpose:     write what evidence makes of relationships: the edge that people and traversals walk.
// Parameters:  $tenant STRING; $rows LIST<MAP {key, id, order_id, type, from_key, to_key, values: MAP {weight, description,
//              seen_audiences, seen_counts, seen_descriptions, seen_spares}}>, sorted by key.
// Needs:       constraints entity_key and relates_key; the facts are locked (write/lock_facts).
// Idempotence: one edge per key, enforced by the database; a second run sets the same values.
// Returns:     one row {written}; fewer than were sent means that an end is missing.
UNWIND $rows AS row
MATCH (a:Entity {key: row.from_key})
MATCH (b:Entity {key: row.to_key})
MERGE (a)-[r:RELATES {key: row.key}]->(b)
SET r += row.values, r.tenant = $tenant, r.id = row.id, r.order_id = row.order_id, r.type = row.type
RETURN count(*) AS written
