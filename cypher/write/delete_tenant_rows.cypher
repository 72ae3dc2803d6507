// Purpose:     remove a batch of a tenant's rows; repeated until none is left.
// Parameters:  $key STRING: the tenant's key; $tenant STRING; $limit INTEGER.
// Needs:       an index on the tenant of each label; one of several properties is used when all of them are asked for.
//              The tenant goes first, so that nothing is accepted meanwhile; chunks go before the hubs they hang on.
// Idempotence: a run that finds nothing changes nothing.
// Returns:     one row {deleted}.
CALL () {
  MATCH (n:Tenant {key: $key}) RETURN n
  UNION ALL
  MATCH (n:ApiKey {tenant: $tenant}) RETURN n
  UNION ALL
  MATCH (n:IndexRun {tenant: $tenant}) WHERE n.id IS NOT NULL RETURN n
  UNION ALL
  MATCH (n:SourceText {tenant: $tenant}) RETURN n
  UNION ALL
  MATCH (n:Chunk {tenant: $tenant}) WHERE n.embedding_key IS NOT NULL RETURN n
  UNION ALL
  MATCH (n:Source {tenant: $tenant}) WHERE n.type IS NOT NULL AND n.id IS NOT NULL RETURN n
  UNION ALL
  MATCH (n:Fact {tenant: $tenant}) WHERE n.id IS NOT NULL RETURN n
  UNION ALL
  MATCH (n:Entity {tenant: $tenant}) WHERE n.id IS NOT NULL RETURN n
  UNION ALL
  MATCH (n:Audience {tenant: $tenant}) RETURN n
  UNION ALL
  MATCH (n:VectorSync {tenant: $tenant}) WHERE n.id IS NOT NULL RETURN n
  UNION ALL
  MATCH (n:Community {tenant: $tenant}) RETURN n
  UNION ALL
  MATCH (n:Skill {tenant: $tenant}) RETURN n
  UNION ALL
  MATCH (n:SkillGraph {tenant: $tenant}) WHERE n.name IS NOT NULL RETURN n
  UNION ALL
  MATCH (n:SkillVersion {tenant: $tenant}) RETURN n
  UNION ALL
  MATCH (n:Usage {tenant: $tenant}) RETURN n
}
WITH n LIMIT $limit
DETACH DELETE n
RETURN count(*) AS deleted
