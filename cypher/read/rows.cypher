// Purpose:     a page of a tenant's nodes of one label with the edges that leave them: for a search of every property.
// Parameters:  $after MAP label → STRING: key after which its page starts, $until for every label but the one asked for;
//              $until STRING: a key beyond the tenant's; $limit INTEGER.
// Needs:       the constraint on the key of each label, whose order is that of the pages.
// Returns:     a row {labels, properties, edges: LIST<MAP {type, properties}>} per node, by key.
CALL () {
  MATCH (n:Tenant) WHERE $after.Tenant < n.key < $until RETURN n ORDER BY n.key LIMIT $limit
  UNION ALL
  MATCH (n:ApiKey) WHERE $after.ApiKey < n.key < $until RETURN n ORDER BY n.key LIMIT $limit
  UNION ALL
  MATCH (n:IndexRun) WHERE $after.IndexRun < n.key < $until RETURN n ORDER BY n.key LIMIT $limit
  UNION ALL
  MATCH (n:Source) WHERE $after.Source < n.key < $until RETURN n ORDER BY n.key LIMIT $limit
  UNION ALL
  MATCH (n:SourceText) WHERE $after.SourceText < n.key < $until RETURN n ORDER BY n.key LIMIT $limit
  UNION ALL
  MATCH (n:Chunk) WHERE $after.Chunk < n.key < $until RETURN n ORDER BY n.key LIMIT $limit
  UNION ALL
  MATCH (n:Entity) WHERE $after.Entity < n.key < $until RETURN n ORDER BY n.key LIMIT $limit
  UNION ALL
  MATCH (n:Fact) WHERE $after.Fact < n.key < $until RETURN n ORDER BY n.key LIMIT $limit
  UNION ALL
  MATCH (n:Audience) WHERE $after.Audience < n.key < $until RETURN n ORDER BY n.key LIMIT $limit
  UNION ALL
  MATCH (n:VectorSync) WHERE $after.VectorSync < n.key < $until RETURN n ORDER BY n.key LIMIT $limit
  UNION ALL
  MATCH (n:SkillGraph) WHERE $after.SkillGraph < n.key < $until RETURN n ORDER BY n.key LIMIT $limit
  UNION ALL
  MATCH (n:SkillVersion) WHERE $after.SkillVersion < n.key < $until RETURN n ORDER BY n.key LIMIT $limit
  UNION ALL
  MATCH (n:Skill) WHERE $after.Skill < n.key < $until RETURN n ORDER BY n.key LIMIT $limit
  UNION ALL
  MATCH (n:Usage) WHERE $after.Usage < n.key < $until RETURN n ORDER BY n.key LIMIT $limit
}
CALL (n) {
  MATCH (n)-[r]->()
  RETURN collect({type: type(r), properties: properties(r)}) AS edges
}
RETURN collect({labels: labels(n), properties: n {.*, data: null}, edges: edges}) AS rows
