// Title: Source: its chunks in order and what they name
// Change the tenant, and type and id of the source.
WITH 'default' AS tenant, 'document' AS type, 'readme' AS id
MATCH (s:Source {tenant: tenant, type: type, id: id})
MATCH path = (s)-[:HAS_CHUNK]->(c:Chunk)
OPTIONAL MATCH named = (c)-[:MENTIONS]->(:Entity)
RETURN path, named
ORDER BY c.index
LIMIT 150
