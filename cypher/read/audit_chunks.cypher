// Purpose:     a page of a tenant's chunks with the sources that hold them: for verify.
// Parameters:  $after, $until STRING: keys between which the page lies; $limit INTEGER.
// Needs:       constraint chunk_key, whose order is that of the pages.
// Returns:     a row {key, id, tenant, audience, extraction_key, seal, sources: LIST<MAP {key, subjects}>, known_audience}.
MATCH (c:Chunk)
WHERE $after < c.key < $until
WITH c ORDER BY c.key LIMIT $limit
CALL (c) {
  MATCH (s:Source)-[:HAS_CHUNK]->(c)
  RETURN collect({key: s.key, subjects: s.subjects}) AS sources
}
RETURN collect({key: c.key, id: c.id, tenant: c.tenant, audience: c.audience, extraction_key: c.extraction_key,
  seal: c.evidence_seal, sources: sources, known_audience: EXISTS { MATCH (:Audience {key: c.audience}) }}) AS rows
