// Name:        differing-descriptions
// Question:    Which entities are described in more than one way, and by which chunks?
// Parameter:   $type STRING 0..64 = "": only entities of this type, such as team; empty: of any.
// Column:      id STRING: the entity.
// Column:      name STRING: its name.
// Column:      descriptions INTEGER: how many different ones there are; most come first.
// Column:      said LIST<MAP>: each {description, chunks: how many give it, chunk: the first of them by id}.
MATCH (e:Entity {tenant: $tenant})
USING INDEX SEEK e:Entity(tenant, id)
WHERE e.id STARTS WITH CASE WHEN $type = '' THEN '' ELSE $type + ':' END
MATCH (e)<-[m:MENTIONS]-(c:Chunk)
WHERE c.audience IN $audiences AND m.description <> ''
WITH e, m.description AS description, count(c) AS chunks, min(c.id) AS chunk
ORDER BY description
WITH e, collect({description: description, chunks: chunks, chunk: chunk}) AS said
WHERE size(said) > 1
RETURN e.id AS id,
       reduce(least = null, i IN range(0, size(e.seen_audiences) - 1) |
         CASE WHEN e.seen_audiences[i] IN $audiences AND (least IS NULL OR e.seen_names[i] < least)
              THEN e.seen_names[i] ELSE least END) AS name,
       size(said) AS descriptions, said
ORDER BY descriptions DESC, id
LIMIT $limit
