"""The promises of the KeyStore port, kept by memory and by Neo4j."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from knotwork.adapters.neo4j.embedded import Neo4jAddress
from knotwork.adapters.neo4j.session import Neo4jSession
from knotwork.domain.catalogue import TenantSettings
from knotwork.domain.ids import content_hash
from knotwork.domain.model import TenantId
from knotwork.errors import UnknownTenant
from knotwork.ports.keys import ApiKey, Scope
from support.stores import Stores, memory_stores, neo4j_session, neo4j_stores, new_tenant


def key(tenant: TenantId, id_: str = "one", **fields: object) -> ApiKey:
    values: dict[str, object] = {"scopes": frozenset({Scope.READ}), "hash": content_hash(tenant + id_)} | fields
    return ApiKey(id=id_, tenant=tenant, **values)  # type: ignore[arg-type] - fields of the test's own


class KeyStoreContract:
    """A subclass adds the `stores` fixture and nothing else."""

    @pytest.fixture
    async def tenant(self, stores: Stores) -> TenantId:
        tenant = new_tenant()
        await stores.catalogue.put_tenant(tenant, TenantSettings())
        return tenant

    async def test_a_key_is_found_by_its_hash_as_it_was_put(self, stores: Stores, tenant: TenantId) -> None:
        keys = [
            key(tenant, "all", scopes=frozenset(Scope), subjects=("user:ana", "*"), name="Ana's `key` 😀"),
            key(tenant, "none", scopes=frozenset[Scope](), subjects=()),
            key(tenant, "operator"),
        ]
        for one in keys:
            await stores.keys.put_key(one)
        assert [await stores.keys.key_by_hash(one.hash) for one in keys] == keys
        assert await stores.keys.key_by_hash("unknown") is None
        assert await stores.keys.is_guarded()

    async def test_an_unknown_tenant_gets_no_key(self, stores: Stores) -> None:
        one = key(new_tenant())
        with pytest.raises(UnknownTenant):
            await stores.keys.put_key(one)
        assert await stores.keys.key_by_hash(one.hash) is None

    async def test_keys_come_by_id_and_a_put_replaces(self, stores: Stores, tenant: TenantId) -> None:
        ids = ["b", "a", "\U0001f600", "\uffee", "'"]
        for id_ in ids:
            await stores.keys.put_key(key(tenant, id_, subjects=("user:ana",)))
        assert [one.id for one in await stores.keys.keys(tenant)] == sorted(ids)
        new = key(tenant, "a", hash=content_hash(f"new {tenant}"))
        await stores.keys.put_key(new)
        assert [one for one in await stores.keys.keys(tenant) if one.id == "a"] == [new]
        assert await stores.keys.key_by_hash(key(tenant, "a").hash) is None

    async def test_a_deleted_key_is_gone(self, stores: Stores, tenant: TenantId) -> None:
        await stores.keys.put_key(key(tenant))
        assert await stores.keys.delete_key(tenant, "one")
        assert not await stores.keys.delete_key(tenant, "one")
        assert await stores.keys.keys(tenant) == []
        assert await stores.keys.key_by_hash(key(tenant).hash) is None
        assert await stores.keys.is_guarded()

    async def test_the_guard_outlives_keys_and_their_tenants(self, stores: Stores, tenant: TenantId) -> None:
        await stores.keys.put_key(key(tenant))
        await stores.catalogue.delete_tenant(tenant)
        assert await stores.keys.keys(tenant) == []
        assert await stores.keys.is_guarded()

    async def test_tenants_are_apart(self, stores: Stores, tenant: TenantId) -> None:
        other = new_tenant()
        await stores.catalogue.put_tenant(other, TenantSettings())
        for owner in (tenant, other):
            await stores.keys.put_key(key(owner))
        assert not await stores.keys.delete_key(new_tenant(), "one")
        assert await stores.keys.delete_key(other, "one")
        assert await stores.keys.keys(tenant) == [key(tenant)]


class TestMemoryKeyStore(KeyStoreContract):
    @pytest.fixture
    def stores(self) -> Stores:
        return memory_stores()

    async def test_the_store_is_open_until_a_key_is_put(self, stores: Stores, tenant: TenantId) -> None:
        assert not await stores.keys.is_guarded()
        with pytest.raises(UnknownTenant):
            await stores.keys.put_key(key(new_tenant()))
        assert not await stores.keys.is_guarded()


@pytest.fixture(scope="module")
async def session(neo4j_server: Neo4jAddress) -> AsyncIterator[Neo4jSession]:
    async with neo4j_session(neo4j_server) as session:
        yield session


@pytest.mark.neo4j
class TestNeo4jKeyStore(KeyStoreContract):
    @pytest.fixture
    def stores(self, session: Neo4jSession) -> Stores:
        return neo4j_stores(session)
