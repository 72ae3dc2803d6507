// Purpose:     remove relationships that no evidence supports any more.
// Parameters:  $keys LIST<STRING>, sorted.
// Needs:       the facts are locked (write/lock_facts).
// Idempotence: a second run finds nothing.
UNWIND $keys AS key
MATCH (f:Fact {key: key})
OPTIONAL MATCH ()-[r:RELATES {key: key}]->()
DELETE r
DETACH DELETE f
