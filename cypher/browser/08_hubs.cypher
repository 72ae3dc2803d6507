// Title: Hubs: the most named entities and their types
// Change the tenant. A mention is one chunk that names the entity. Reads every entity of the tenant.
WITH 'default' AS tenant
MATCH (e:Entity {tenant: tenant})
RETURN e.type AS type, e.name AS name, COUNT { ()-[:MENTIONS]->(e) } AS mentions,
       COUNT { (e)-[:RELATES]-() } AS relationships
ORDER BY mentions DESC, relationships DESC, type, name
LIMIT 50
