// Purpose:     write nodes into a fresh store.
// Parameters:  $rows LIST<MAP {at, labels, properties}>.
// Needs:       an empty store that nobody else uses.
// Idempotence: none: a copy that fails is thrown away.
// Returns:     a row {at, id} per node; the id is of this store.
UNWIND $rows AS row
CREATE (n:$(row.labels))
SET n = row.properties
RETURN row.at AS at, elementId(n) AS id
