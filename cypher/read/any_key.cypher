// Purpose:     whether any API key exists.
// Parameters:  none.
// Returns:     one row {found}.
RETURN EXISTS { MATCH (:ApiKey) } AS found
