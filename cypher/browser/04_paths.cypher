// Title: Paths: how two names are tied to each other
// Change the tenant and the two names. Edges are walked in both directions; the arrows show which way each one says.
WITH 'default' AS tenant, 'checkout service' AS from, 'payments team' AS to
MATCH (a:Entity {tenant: tenant, name_key: from})
MATCH (b:Entity {tenant: tenant, name_key: to})
WHERE a <> b
MATCH path = allShortestPaths((a)-[:RELATES*1..5]-(b))
RETURN path
LIMIT 25
