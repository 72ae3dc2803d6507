// Purpose:     one node per skill, graph and version, one edge per move; the ways in by tenant and by name.
// Parameters:  none. Statements are parted by semicolons and run in order, each safe to repeat.
CREATE CONSTRAINT skill_key IF NOT EXISTS FOR (n:Skill) REQUIRE n.key IS UNIQUE;
CREATE CONSTRAINT skill_graph_key IF NOT EXISTS FOR (n:SkillGraph) REQUIRE n.key IS UNIQUE;
CREATE CONSTRAINT skill_version_key IF NOT EXISTS FOR (n:SkillVersion) REQUIRE n.key IS UNIQUE;
CREATE CONSTRAINT route_key IF NOT EXISTS FOR ()-[r:ROUTE]-() REQUIRE r.key IS UNIQUE;
CREATE INDEX skill_of_graph IF NOT EXISTS FOR (n:Skill) ON (n.tenant, n.graph);
CREATE INDEX skill_graph_name IF NOT EXISTS FOR (n:SkillGraph) ON (n.tenant, n.name);
CREATE INDEX skill_version_tenant IF NOT EXISTS FOR (n:SkillVersion) ON (n.tenant);
