// Purpose:     every node of the database, to be copied into a fresh store.
// Parameters:  none: all tenants are copied together.
// Returns:     a row {id, labels, properties} per node; the id is of this store.
MATCH (n)
RETURN elementId(n) AS id, labels(n) AS labels, properties(n) AS properties
