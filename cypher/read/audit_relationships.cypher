// Purpose:     a page of a tenant's relationships, and whether each has its fact: for verify.
// Parameters:  $after, $until STRING: keys between which the page lies; $limit INTEGER.
// Needs:       constraints relates_key, whose order is that of the pages, and fact_key.
// Returns:     a row {key, id, asserted} per relationship.
MATCH ()-[r:RELATES]->()
WHERE $after < r.key < $until
WITH r ORDER BY r.key LIMIT $limit
RETURN collect({key: r.key, id: r.id, asserted: EXISTS { MATCH (:Fact {key: r.key}) }}) AS rows
