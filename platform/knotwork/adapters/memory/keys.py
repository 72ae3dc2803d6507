"""KeyStore in memory."""

from __future__ import annotations

from knotwork.adapters.memory.database import MemoryDatabase
from knotwork.domain.model import TenantId
from knotwork.errors import UnknownTenant
from knotwork.ports.keys import ApiKey


class MemoryKeyStore:
    """KeyStore over a MemoryDatabase."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._database = database
        self._tenants = database.tenants

    async def put_key(self, key: ApiKey) -> None:
        rows = self._tenants[key.tenant]
        if rows.settings is None:
            raise UnknownTenant(key.tenant)
        rows.keys[key.id] = key
        self._database.is_guarded = True

    async def key_by_hash(self, hash_: str) -> ApiKey | None:
        keys = (key for rows in self._tenants.values() for key in rows.keys.values())
        return next((key for key in keys if key.hash == hash_), None)

    async def keys(self, tenant: TenantId) -> list[ApiKey]:
        keys = self._tenants[tenant].keys
        return [keys[id_] for id_ in sorted(keys)]

    async def delete_key(self, tenant: TenantId, key_id: str) -> bool:
        return self._tenants[tenant].keys.pop(key_id, None) is not None

    async def is_guarded(self) -> bool:
        return self._database.is_guarded
