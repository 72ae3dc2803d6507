// Purpose:     what is tied to some names and chunks, as one reader may see it: one step of a walk over the graph.
// Parameters:  $tenant STRING; $names LIST<STRING>: normalised; $chunks LIST<STRING>: chunk keys; $subjects LIST<STRING> or
//              null (all); $hub_mentions INTEGER: names with more visible mentions stay closed.
// Needs:       index entity_name, constraint chunk_key. Work is bounded by what is read: of a hub only its counts.
// Returns:     one row {names: LIST<MAP {name, mentions, entities, chunks: LIST<MAP {id, title, headings}>,
//              facts: LIST<[id, weight]>}>,
//              chunks: LIST<MAP {id, entities: LIST<[id, mentions]>}>}, in no order.
CALL () {
  OPTIONAL MATCH (a:Audience {tenant: $tenant})
  WHERE $subjects IS NOT NULL AND any(subject IN a.subjects WHERE subject IN $subjects)
  RETURN CASE WHEN $subjects IS NULL THEN null ELSE collect(a.key) END AS audiences
}
CALL (audiences) {
  UNWIND $names AS name
  MATCH (e:Entity {tenant: $tenant, name_key: name})
  USING INDEX e:Entity(tenant, name_key, id)
  WHERE e.id IS NOT NULL AND e.mentions IS NOT NULL
  WITH audiences, name, e, CASE WHEN audiences IS NULL THEN e.mentions ELSE
    reduce(seen = 0, i IN range(0, size(e.seen_audiences) - 1) |
      seen + CASE WHEN e.seen_audiences[i] IN audiences THEN e.seen_counts[i] ELSE 0 END) END AS mentions
  WHERE mentions > 0
  WITH audiences, name, collect(e) AS entities, sum(mentions) AS mentions
  RETURN collect({name: name, mentions: mentions, entities: [e IN entities | e.id],
    chunks: CASE WHEN mentions > $hub_mentions THEN [] ELSE COLLECT {
      UNWIND entities AS e
      MATCH (c:Chunk)-[:MENTIONS]->(e)
      WHERE audiences IS NULL OR c.audience IN audiences
      WITH DISTINCT c
      RETURN {id: c.id, title: c.title, headings: c.headings}
    } END,
    facts: CASE WHEN mentions > $hub_mentions THEN [] ELSE COLLECT {
      UNWIND entities AS e
      MATCH (e)-[r:RELATES]-()
      WITH DISTINCT r, CASE WHEN audiences IS NULL THEN r.weight ELSE
        reduce(seen = 0, i IN range(0, size(r.seen_audiences) - 1) |
          seen + CASE WHEN r.seen_audiences[i] IN audiences THEN r.seen_counts[i] ELSE 0 END) END AS weight
      WHERE weight > 0
      RETURN [r.id, weight]
    } END}) AS names
}
CALL (audiences) {
  UNWIND $chunks AS key
  MATCH (c:Chunk {key: key})
  WHERE audiences IS NULL OR c.audience IN audiences
  RETURN collect({id: c.id, entities: COLLECT {
    MATCH (c)-[:MENTIONS]->(e:Entity)
    WHERE e.mentions IS NOT NULL
    RETURN [e.id, CASE WHEN audiences IS NULL THEN e.mentions ELSE
      reduce(seen = 0, i IN range(0, size(e.seen_audiences) - 1) |
        seen + CASE WHEN e.seen_audiences[i] IN audiences THEN e.seen_counts[i] ELSE 0 END) END]
  }}) AS chunks
}
RETURN names, chunks
