// Title: Evidence: the chunks and sources that name an entity
// Change the tenant and the name.
WITH 'default' AS tenant, 'retry budget' AS name
MATCH (e:Entity {tenant: tenant, name_key: name})
MATCH path = (s:Source)-[:HAS_CHUNK]->(c:Chunk)-[:MENTIONS]->(e)
RETURN path
ORDER BY s.key, c.index
LIMIT 50
