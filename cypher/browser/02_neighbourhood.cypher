// Title: Neighbourhood: what is tied to a name
// Change the tenant and the name; the name is written in small letters, without accents and punctuation.
WITH 'default' AS tenant, 'retry budget' AS name
MATCH (e:Entity {tenant: tenant, name_key: name})
OPTIONAL MATCH (e)-[r:RELATES]-(other:Entity)
RETURN e, r, other
ORDER BY r.weight DESC, r.key
LIMIT 100
