// Purpose:     whether an API key exists, or ever existed.
// Parameters:  none.
// Returns:     one row {found}.
RETURN EXISTS { MATCH (:KeyGuard) } OR EXISTS { MATCH (:ApiKey) } AS found
