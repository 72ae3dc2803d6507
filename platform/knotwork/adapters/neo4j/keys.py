"""KeyStore over Neo4j 5.26 or later."""

from __future__ import annotations

from knotwork.adapters.neo4j.catalogue import TENANT_ID
from knotwork.adapters.neo4j.session import Neo4jSession, Row
from knotwork.domain.ids import storage_key
from knotwork.domain.model import TenantId
from knotwork.errors import UnknownTenant
from knotwork.ports.keys import ApiKey, Scope

GUARD = "guard"  # key of the one KeyGuard, which belongs to no tenant


class Neo4jKeyStore:
    """KeyStore over Neo4j. Whoever opened the driver closes it."""

    def __init__(self, session: Neo4jSession) -> None:
        self._session = session

    async def put_key(self, key: ApiKey) -> None:
        rows = await self._session.execute(
            "write/put_key",
            tenant_key=storage_key(key.tenant, TENANT_ID),
            key=_key(key.tenant, key.id),
            guard=GUARD,
            values={
                "id": key.id,
                "hash": key.hash,
                "tenant": key.tenant,
                "scopes": sorted(scope.value for scope in key.scopes),
                "subjects": None if key.subjects is None else list(key.subjects),
                "name": key.name,
            },
        )
        if not rows[0]["stored"]:
            raise UnknownTenant(key.tenant)

    async def key_by_hash(self, hash_: str) -> ApiKey | None:
        rows = await self._session.rows("read/key_by_hash", hash=hash_)
        return _key_from(rows[0]["key"]) if rows else None

    async def keys(self, tenant: TenantId) -> list[ApiKey]:
        keys = [_key_from(row["key"]) for row in await self._session.rows("read/keys", tenant=tenant)]
        return sorted(keys, key=lambda key: key.id)

    async def delete_key(self, tenant: TenantId, key_id: str) -> bool:
        return bool((await self._session.execute("write/delete_key", key=_key(tenant, key_id)))[0]["deleted"])

    async def is_guarded(self) -> bool:
        return bool((await self._session.rows("read/key_guard"))[0]["found"])


def _key(tenant: TenantId, key_id: str) -> str:
    return storage_key(tenant, f"key {key_id}")


def _key_from(values: Row) -> ApiKey:
    subjects = values.get("subjects")
    return ApiKey(
        id=values["id"],
        hash=values["hash"],
        tenant=TenantId(values["tenant"]),
        scopes=frozenset(Scope(scope) for scope in values["scopes"]),
        subjects=None if subjects is None else tuple(subjects),
        name=values["name"],
    )
