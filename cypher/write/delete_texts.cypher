// Purpose:     remove pieces of text that belong to nothing.
// Parameters:  $keys LIST<STRING>, sorted.
// Needs:       constraint source_text_key.
// Idempotence: a second run finds nothing.
UNWIND $keys AS key
MATCH (t:SourceText {key: key})
DETACH DELETE t
