// Purpose:     entities by normalised name, under every type.
// Parameters:  $tenant STRING; $names LIST<STRING>.
// Needs:       index entity_name.
// Returns:     a row {key} per entity.
UNWIND $names AS name
MATCH (e:Entity {tenant: $tenant, name_key: name})
USING INDEX e:Entity(tenant, name_key, id)
WHERE e.id IS NOT NULL  // the index is of use only when all its properties are asked for
RETURN collect({key: e.key}) AS rows
