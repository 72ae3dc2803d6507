// Purpose:     how far the database has come, to tell whether anybody wrote to it meanwhile.
// Parameters:  none.
// Returns:     one row {last}.
SHOW DATABASE neo4j YIELD lastCommittedTxn
RETURN lastCommittedTxn AS last
