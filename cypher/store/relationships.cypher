// Purpose:     every relationship of the database, to be copied into a fresh store.
// Parameters:  none: all tenants are copied together.
// Returns:     a row {from_id, to_id, type, properties} per relationship; ids are of this store.
MATCH (a)-[r]->(b)
RETURN elementId(a) AS from_id, elementId(b) AS to_id, type(r) AS type, properties(r) AS properties
