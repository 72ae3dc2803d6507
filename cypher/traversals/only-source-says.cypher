// Name:        only-source-says
// Question:    What does a source say that no other source says?
// Parameter:   $source_id STRING 1..4096: the source's id, such as docs/readme.md.
// Parameter:   $source_type STRING 1..64 = "document": its type.
// Column:      relationship STRING: the id of a relationship that only this source asserts: from|type|to.
// Column:      descriptions LIST<STRING>: what it says of it.
// Column:      chunks LIST<STRING>: ids of its chunks that assert it.
MATCH (s:Source {tenant: $tenant, type: $source_type, id: $source_id})-[:HAS_CHUNK]->(c:Chunk)
USING INDEX SEEK s:Source(tenant, type, id)
WHERE c.audience IN $audiences
MATCH (c)-[a:ASSERTS]->(f:Fact)
WITH s, f, a, c ORDER BY c.id
WITH s, f, collect(DISTINCT a.description) AS descriptions, collect(c.id) AS chunks
CALL (s, f) {
  MATCH (f)<-[:ASSERTS]-(c:Chunk)<-[:HAS_CHUNK]-(other:Source)
  WHERE other <> s AND c.audience IN $audiences
  RETURN count(other) AS others
}
WITH f, descriptions, chunks, others WHERE others = 0
RETURN f.id AS relationship, descriptions, chunks
ORDER BY relationship
LIMIT $limit
