// Purpose:     entities by normalised name, under every type.
// Parameters:  $tenant STRING; $names LIST<STRING>.
// Returns:     a row {key} per entity.
UNWIND $names AS name
MATCH (e:Entity {tenant: $tenant, name_key: name})
RETURN e.key AS key
