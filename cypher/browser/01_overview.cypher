// Title: Overview: the best-proved relationships of a tenant
// Change the tenant in the first line. The heavier an edge, the more chunks assert it.
WITH 'default' AS tenant
MATCH (a:Entity {tenant: tenant})-[r:RELATES]->(b:Entity)
RETURN a, r, b
ORDER BY r.weight DESC, r.key
LIMIT 150
