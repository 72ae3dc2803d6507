// Title: Proof: which chunk asserts each relationship of a name, and in what words
// Change the tenant and the name. An edge and its fact have the same key.
WITH 'default' AS tenant, 'retry budget' AS name
MATCH (e:Entity {tenant: tenant, name_key: name})-[r:RELATES]-(:Entity)
MATCH (s:Source)-[:HAS_CHUNK]->(c:Chunk)-[asserts:ASSERTS]->(f:Fact {key: r.key})
RETURN startNode(r).name AS from, r.type AS type, endNode(r).name AS to, asserts.description AS words,
       s.title AS source, c.headings AS headings, c.page AS page
ORDER BY from, type, to, source, c.index
LIMIT 100
