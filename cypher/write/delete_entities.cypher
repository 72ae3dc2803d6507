// Purpose:     remove entities that no evidence supports any more.
// Parameters:  $keys LIST<STRING>, sorted.
// Needs:       the entities are locked (write/lock_entities) and their relationships are gone (write/delete_facts).
// Idempotence: a second run finds nothing.
UNWIND $keys AS key
MATCH (e:Entity {key: key})
DETACH DELETE e
