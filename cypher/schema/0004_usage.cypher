// Purpose:     one node per tenant, day, mode and model; the ways in by tenant and by day.
// Parameters:  none. Statements are parted by semicolons and run in order, each safe to repeat.
CREATE CONSTRAINT usage_key IF NOT EXISTS FOR (n:Usage) REQUIRE n.key IS UNIQUE;
CREATE INDEX usage_day IF NOT EXISTS FOR (n:Usage) ON (n.day);
