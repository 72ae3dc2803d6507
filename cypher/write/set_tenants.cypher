// Purpose:     give nodes the tenant that their key names.
// Parameters:  $rows LIST<MAP {key, tenant}>, sorted by key.
// Needs:       the constraint on the key of each label.
// Idempotence: sets values.
UNWIND $rows AS row
CALL (row) {
  MATCH (n:Source {key: row.key}) RETURN n
  UNION
  MATCH (n:SourceText {key: row.key}) RETURN n
  UNION
  MATCH (n:Chunk {key: row.key}) RETURN n
  UNION
  MATCH (n:Entity {key: row.key}) RETURN n
  UNION
  MATCH (n:Fact {key: row.key}) RETURN n
  UNION
  MATCH (n:Audience {key: row.key}) RETURN n
  UNION
  MATCH (n:SkillGraph {key: row.key}) RETURN n
  UNION
  MATCH (n:SkillVersion {key: row.key}) RETURN n
  UNION
  MATCH (n:Skill {key: row.key}) RETURN n
  UNION
  MATCH (n:Usage {key: row.key}) RETURN n
}
SET n.tenant = row.tenant
