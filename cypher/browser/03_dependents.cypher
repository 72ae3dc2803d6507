// Title: Dependents: who depends on a name, directly or through others
// Change the tenant, the name and the types of relationship that count. Edges are followed as they are directed.
WITH 'default' AS tenant, 'retry budget' AS name, ['depends-on', 'uses', 'requires', 'needs', 'owns'] AS types
MATCH (e:Entity {tenant: tenant, name_key: name})
MATCH path = (dependent:Entity)((:Entity)-[r:RELATES WHERE r.type IN types]->(:Entity)){1,3}(e)
RETURN path
ORDER BY length(path), dependent.key
LIMIT 100
