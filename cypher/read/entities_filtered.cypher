// Purpose:     what the evidence from some sources says of these entities.
// Parameters:  $keys LIST<STRING>; $audiences LIST<STRING> or null (all); $conditions LIST<MAP {field, values, gte, lte}>,
//              all of which a source must meet; a null part does not ask.
// Returns:     a row {id, type, count, names, descriptions} per entity with such evidence: distinct names and descriptions.
UNWIND $keys AS key
MATCH (e:Entity {key: key})<-[m:MENTIONS]-(chunk:Chunk)<-[:HAS_CHUNK]-(s:Source)
WHERE ($audiences IS NULL OR chunk.audience IN $audiences)
  AND all(c IN $conditions WHERE any(value IN [] + coalesce(s[c.field], []) WHERE
    (c.values IS NULL OR value IN c.values) AND (c.gte IS NULL OR value >= c.gte) AND (c.lte IS NULL OR value <= c.lte)))
RETURN e.id AS id, e.type AS type, count(m) AS count, collect(DISTINCT m.name) AS names,
       collect(DISTINCT m.description) AS descriptions
