// Purpose:     as read/surroundings, by the evidence from some sources only, which is counted here and now.
// Parameters:  $tenant, $names, $chunks, $subjects, $hub_mentions as there; $conditions LIST<MAP {field, values, gte, lte}>,
//              all of which a source must meet; a null part does not ask.
// Needs:       index entity_name, constraints chunk_key and fact_key. Work grows with all evidence of what is asked for.
// Returns:     as there.
CALL () {
  OPTIONAL MATCH (a:Audience {tenant: $tenant})
  WHERE $subjects IS NOT NULL AND any(subject IN a.subjects WHERE subject IN $subjects)
  RETURN CASE WHEN $subjects IS NULL THEN null ELSE collect(a.key) END AS audiences
}
CALL (audiences) {
  UNWIND $names AS name
  MATCH (e:Entity {tenant: $tenant, name_key: name})
  USING INDEX e:Entity(tenant, name_key, id)
  WHERE e.id IS NOT NULL
  WITH audiences, name, e, COLLECT {
    MATCH (e)<-[:MENTIONS]-(c:Chunk)<-[:HAS_CHUNK]-(s:Source)
    WHERE (audiences IS NULL OR c.audience IN audiences)
      AND all(asked IN $conditions WHERE any(value IN [] + coalesce(s[asked.field], []) WHERE
        (asked.values IS NULL OR value IN asked.values) AND (asked.gte IS NULL OR value >= asked.gte)
        AND (asked.lte IS NULL OR value <= asked.lte)))
    RETURN {id: c.id, title: c.title, headings: c.headings}
  } AS chunks
  WHERE size(chunks) > 0
  WITH audiences, name, collect(e) AS entities, sum(size(chunks)) AS mentions, collect(chunks) AS chunks
  RETURN collect({name: name, mentions: mentions, entities: [e IN entities | e.id],
    chunks: CASE WHEN mentions > $hub_mentions THEN [] ELSE COLLECT {
      UNWIND chunks AS part
      UNWIND part AS chunk
      RETURN DISTINCT chunk
    } END,
    facts: CASE WHEN mentions > $hub_mentions THEN [] ELSE COLLECT {
      UNWIND entities AS e
      MATCH (e)-[r:RELATES]-()
      WITH DISTINCT r, audiences
      WITH r, COUNT {
        MATCH (:Fact {key: r.key})<-[:ASSERTS]-(c:Chunk)<-[:HAS_CHUNK]-(s:Source)
        WHERE (audiences IS NULL OR c.audience IN audiences)
          AND all(asked IN $conditions WHERE any(value IN [] + coalesce(s[asked.field], []) WHERE
            (asked.values IS NULL OR value IN asked.values) AND (asked.gte IS NULL OR value >= asked.gte)
            AND (asked.lte IS NULL OR value <= asked.lte)))
      } AS weight
      WHERE weight > 0
      RETURN [r.id, weight]
    } END}) AS names
}
CALL (audiences) {
  UNWIND $chunks AS key
  MATCH (c:Chunk {key: key})<-[:HAS_CHUNK]-(s:Source)
  WHERE (audiences IS NULL OR c.audience IN audiences)
    AND all(asked IN $conditions WHERE any(value IN [] + coalesce(s[asked.field], []) WHERE
      (asked.values IS NULL OR value IN asked.values) AND (asked.gte IS NULL OR value >= asked.gte)
      AND (asked.lte IS NULL OR value <= asked.lte)))
  RETURN collect({id: c.id, entities: COLLECT {
    MATCH (c)-[:MENTIONS]->(e:Entity)
    RETURN [e.id, COUNT {
      MATCH (e)<-[:MENTIONS]-(other:Chunk)<-[:HAS_CHUNK]-(source:Source)
      WHERE (audiences IS NULL OR other.audience IN audiences)
        AND all(asked IN $conditions WHERE any(value IN [] + coalesce(source[asked.field], []) WHERE
          (asked.values IS NULL OR value IN asked.values) AND (asked.gte IS NULL OR value >= asked.gte)
          AND (asked.lte IS NULL OR value <= asked.lte)))
    }]
  }}) AS chunks
}
RETURN names, chunks
