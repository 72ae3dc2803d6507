// Purpose:     nodes whose tenant is not that of their key: marked as this tenant's under another's key, or the reverse.
// Parameters:  $tenant STRING; $after, $until STRING: keys between which the tenant's own lie; $limit INTEGER.
// Needs:       the constraint on the key and the index on the tenant of each label.
// Returns:     a row {key, label} per node, up to the limit.
CALL () {
  MATCH (n:Source {tenant: $tenant}) WHERE n.type IS NOT NULL AND n.id IS NOT NULL AND NOT $after < n.key < $until RETURN n
  UNION
  MATCH (n:Source) WHERE $after < n.key < $until AND n.tenant <> $tenant RETURN n
  UNION
  MATCH (n:SourceText {tenant: $tenant}) WHERE NOT $after < n.key < $until RETURN n
  UNION
  MATCH (n:SourceText) WHERE $after < n.key < $until AND n.tenant <> $tenant RETURN n
  UNION
  MATCH (n:Chunk {tenant: $tenant}) WHERE n.embedding_key IS NOT NULL AND NOT $after < n.key < $until RETURN n
  UNION
  MATCH (n:Chunk) WHERE $after < n.key < $until AND n.tenant <> $tenant RETURN n
  UNION
  MATCH (n:Entity {tenant: $tenant}) WHERE n.id IS NOT NULL AND NOT $after < n.key < $until RETURN n
  UNION
  MATCH (n:Entity) WHERE $after < n.key < $until AND n.tenant <> $tenant RETURN n
  UNION
  MATCH (n:Fact {tenant: $tenant}) WHERE n.id IS NOT NULL AND NOT $after < n.key < $until RETURN n
  UNION
  MATCH (n:Fact) WHERE $after < n.key < $until AND n.tenant <> $tenant RETURN n
  UNION
  MATCH (n:Audience {tenant: $tenant}) WHERE NOT $after < n.key < $until RETURN n
  UNION
  MATCH (n:Audience) WHERE $after < n.key < $until AND n.tenant <> $tenant RETURN n
  UNION
  MATCH (n:SkillGraph {tenant: $tenant}) WHERE n.name IS NOT NULL AND NOT $after < n.key < $until RETURN n
  UNION
  MATCH (n:SkillGraph) WHERE $after < n.key < $until AND n.tenant <> $tenant RETURN n
  UNION
  MATCH (n:Skill {tenant: $tenant}) WHERE n.graph IS NOT NULL AND NOT $after < n.key < $until RETURN n
  UNION
  MATCH (n:Skill) WHERE $after < n.key < $until AND n.tenant <> $tenant RETURN n
  UNION
  MATCH (n:SkillVersion {tenant: $tenant}) WHERE NOT $after < n.key < $until RETURN n
  UNION
  MATCH (n:SkillVersion) WHERE $after < n.key < $until AND n.tenant <> $tenant RETURN n
  UNION
  MATCH (n:Usage {tenant: $tenant}) WHERE NOT $after < n.key < $until RETURN n
  UNION
  MATCH (n:Usage) WHERE $after < n.key < $until AND n.tenant <> $tenant RETURN n
}
WITH n LIMIT $limit
RETURN collect({key: n.key, label: labels(n)[0]}) AS rows
