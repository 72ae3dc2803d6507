// Name:        timeline
// Question:    What was said of an entity, in the order of the sources' dates?
// Parameter:   $entity ENTITY: an entity's id, such as concept:retry budget, or a name that only one entity has.
// Parameter:   $field STRING 1..64 = "date": the field of the sources' metadata that holds the date, in ISO 8601.
// Column:      date STRING: the source's date; sources without one are left out.
// Column:      source_type STRING: the source's type.
// Column:      source_id STRING: its id.
// Column:      title STRING: its title.
// Column:      descriptions LIST<STRING>: what it says of the entity.
// Column:      chunks LIST<STRING>: ids of its chunks that name the entity.
MATCH (e:Entity {tenant: $tenant, id: $entity})<-[m:MENTIONS]-(c:Chunk)
USING INDEX SEEK e:Entity(tenant, id)
WHERE c.audience IN $audiences
MATCH (c)<-[:HAS_CHUNK]-(s:Source)
WHERE s['metadata.' + $field] IS NOT NULL
WITH s, m, c ORDER BY c.index, c.id
WITH s, collect(DISTINCT m.description) AS descriptions, collect(c.id) AS chunks
RETURN toString(head([] + s['metadata.' + $field])) AS date, s.type AS source_type, s.id AS source_id, s.title AS title,
       [d IN descriptions WHERE d <> ''] AS descriptions, chunks
ORDER BY date, source_type, source_id
LIMIT $limit
