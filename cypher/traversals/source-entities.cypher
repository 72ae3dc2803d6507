// Name:        source-entities
// Question:    What does a source name?
// Parameter:   $source_id STRING 1..4096: the source's id, such as docs/readme.md.
// Parameter:   $source_type STRING 1..64 = "document": its type.
// Column:      id STRING: an entity that it names.
// Column:      name STRING: its name, as this source has it.
// Column:      chunks INTEGER: chunks of the source that name it; most come first.
MATCH (s:Source {tenant: $tenant, type: $source_type, id: $source_id})-[:HAS_CHUNK]->(c:Chunk)
USING INDEX SEEK s:Source(tenant, type, id)
WHERE c.audience IN $audiences
MATCH (c)-[m:MENTIONS]->(e:Entity)
RETURN e.id AS id, min(m.name) AS name, count(c) AS chunks
ORDER BY chunks DESC, id
LIMIT $limit
