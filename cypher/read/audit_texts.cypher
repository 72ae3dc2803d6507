// Purpose:     a page of a tenant's stored texts, and whether each belongs to a source or to a run that is not over.
// Parameters:  $after, $until STRING: keys between which the page lies; $limit INTEGER.
// Needs:       constraint source_text_key, whose order is that of the pages.
// Returns:     a row {key, owned} per piece of text.
MATCH (t:SourceText)
WHERE $after < t.key < $until
WITH t ORDER BY t.key LIMIT $limit
WITH t, EXISTS { MATCH (:Source)-[:HAS_TEXT]->(t) }
        OR EXISTS { MATCH (run:IndexRun)-[:HAS_TEXT]->(t) WHERE run.open IS NOT NULL } AS owned
RETURN collect({key: t.key, owned: owned}) AS rows
