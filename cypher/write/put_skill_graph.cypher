// Purpose:     make a declaration the present version of a skill graph; the versions before it stay.
// Parameters:  $tenant_key, $key, $version_key STRING: keys of the tenant, the graph and the version; $tenant, $graph,
//              $version STRING: the hash of the declaration; $declaration STRING.
// Needs:       constraints tenant_key, skill_graph_key and skill_version_key.
// Idempotence: MERGE on the keys; a version keeps its number and text; the present one put again changes no value.
// Returns:     one row {changed, number}; none means that the tenant does not exist.
MATCH (:Tenant {key: $tenant_key})
MERGE (g:SkillGraph {key: $key})
SET g.tenant = $tenant, g.name = $graph  // also takes the write lock: versions are counted only after it
WITH g, g.version AS before
WITH g, before, COUNT { (g)-[:HAS_VERSION]->() } AS held
MERGE (v:SkillVersion {key: $version_key})
ON CREATE SET v.tenant = $tenant, v.version = $version, v.declaration = $declaration, v.number = held + 1
MERGE (g)-[:HAS_VERSION]->(v)
SET g.version = $version
RETURN coalesce(before <> $version, true) AS changed, v.number AS number
