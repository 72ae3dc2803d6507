// Purpose:     write relationships into a fresh store.
// Parameters:  $rows LIST<MAP {from_id, to_id, type, properties}>; ids are of this store.
// Needs:       the nodes are written (store/create_nodes).
// Idempotence: none: a copy that fails is thrown away.
// Returns:     one row {created}.
UNWIND $rows AS row
MATCH (a) WHERE elementId(a) = row.from_id
MATCH (b) WHERE elementId(b) = row.to_id
CREATE (a)-[r:$(row.type)]->(b)
SET r = row.properties
RETURN count(r) AS created
