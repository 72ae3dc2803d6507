"""The promises of the UsageStore port, kept by memory and by Neo4j."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import date, timedelta
from uuid import uuid4

import pytest

from knotwork.adapters.neo4j.audit import Neo4jAudit
from knotwork.adapters.neo4j.embedded import Neo4jAddress
from knotwork.adapters.neo4j.session import Neo4jSession
from knotwork.adapters.neo4j.usage import usage_key
from knotwork.domain.catalogue import TenantSettings
from knotwork.domain.damage import DamageKind
from knotwork.domain.model import TenantId
from knotwork.domain.usage import Quota, UsageCount, UsageKey, UsageRow
from knotwork.errors import UnknownTenant
from knotwork.ports.usage import UsageBatch
from support.stores import Stores, memory_stores, neo4j_session, neo4j_stores, new_tenant

DAY = date(2031, 3, 1)  # later than any that a test of the same server counts
ALWAYS = {"since": date.min, "until": date.max}


def row(tenant: TenantId, *, day: date = DAY, mode: str = "local", model: str = "m", queries: int = 1) -> UsageRow:
    return UsageRow(UsageKey(tenant, day, mode, model), UsageCount(queries, 10 * queries, queries))


async def add(stores: Stores, *rows: UsageRow, id_: str | None = None) -> None:
    await stores.usage.add(UsageBatch(id_ or uuid4().hex, rows))


class UsageStoreContract:
    """A subclass adds the `stores` fixture and nothing else."""

    @pytest.fixture
    async def tenant(self, stores: Stores) -> TenantId:
        tenant = new_tenant()
        await stores.catalogue.put_tenant(tenant, TenantSettings())
        return tenant

    async def test_counts_add_up_by_day_mode_and_model(self, stores: Stores, tenant: TenantId) -> None:
        other_day, other_model = row(tenant, day=DAY + timedelta(days=1)), row(tenant, model="m 2\n'苹果'")
        no_model = row(tenant, mode="keyword", model="")
        await add(stores, row(tenant, queries=2), other_day, no_model)
        await add(stores, row(tenant, queries=3), other_model)
        assert await stores.usage.rows(tenant, **ALWAYS) == sorted(
            [row(tenant, queries=5), other_day, other_model, no_model], key=lambda one: one.key
        )

    async def test_the_batch_added_last_adds_nothing_again(self, stores: Stores, tenant: TenantId) -> None:
        await add(stores, row(tenant), id_="first")
        for _ in range(3):
            await add(stores, row(tenant), row(tenant, mode="hybrid"), id_="second")
        assert await stores.usage.rows(tenant, **ALWAYS) == [row(tenant, mode="hybrid"), row(tenant, queries=2)]

    async def test_days_are_taken_with_their_ends(self, stores: Stores, tenant: TenantId) -> None:
        rows = [row(tenant, day=DAY + timedelta(days=number)) for number in range(5)]
        await add(stores, *rows)
        assert await stores.usage.rows(tenant, since=rows[1].key.day, until=rows[3].key.day) == rows[1:4]

    async def test_what_a_tenant_used_that_does_not_exist_is_left_out(self, stores: Stores, tenant: TenantId) -> None:
        gone = new_tenant()
        await add(stores, row(gone), row(tenant))
        await stores.catalogue.put_tenant(gone, TenantSettings())
        assert await stores.usage.rows(gone, **ALWAYS) == []
        assert await stores.usage.rows(tenant, **ALWAYS) == [row(tenant)]

    async def test_tenants_are_apart_and_go_with_their_usage_and_quota(self, stores: Stores, tenant: TenantId) -> None:
        other = new_tenant()
        await stores.catalogue.put_tenant(other, TenantSettings())
        await add(stores, row(tenant), row(other, queries=2))
        await stores.usage.put_quota(tenant, Quota(queries_per_day=1))
        await stores.catalogue.delete_tenant(tenant)
        await stores.catalogue.put_tenant(tenant, TenantSettings())
        assert await stores.usage.rows(tenant, **ALWAYS) == []
        assert tenant not in await stores.usage.quotas()
        assert await stores.usage.rows(other, **ALWAYS) == [row(other, queries=2)]

    async def test_the_rows_of_all_tenants_from_a_day_on(self, stores: Stores, tenant: TenantId) -> None:
        other = new_tenant()
        await stores.catalogue.put_tenant(other, TenantSettings())
        rows = sorted([row(tenant), row(other), row(other, day=DAY + timedelta(days=1))], key=lambda one: one.key)
        await add(stores, *rows, row(tenant, day=DAY - timedelta(days=1)))
        found = await stores.usage.rows_since(DAY)
        assert [one for one in found if one.key.tenant in {tenant, other}] == rows

    async def test_days_before_one_are_removed(self, stores: Stores, tenant: TenantId) -> None:
        early = date(2001, 1, 1)
        rows = [row(tenant, day=early + timedelta(days=number)) for number in range(4)]
        await add(stores, *rows)
        await stores.usage.prune(rows[2].key.day)
        assert await stores.usage.rows(tenant, **ALWAYS) == rows[2:]

    async def test_a_quota_is_set_replaced_and_lifted(self, stores: Stores, tenant: TenantId) -> None:
        assert tenant not in await stores.usage.quotas()
        for quota in (Quota(queries_per_day=0, tokens_per_month=2**53), Quota(queries_per_month=5)):
            await stores.usage.put_quota(tenant, quota)
            assert (await stores.usage.quotas())[tenant] == quota
        await stores.catalogue.put_tenant(tenant, TenantSettings(graph=False))
        assert tenant in await stores.usage.quotas()
        await stores.usage.put_quota(tenant, Quota())
        assert tenant not in await stores.usage.quotas()

    async def test_an_unknown_tenant_gets_no_quota(self, stores: Stores) -> None:
        with pytest.raises(UnknownTenant):
            await stores.usage.put_quota(new_tenant(), Quota())

    async def test_writers_at_once_lose_nothing(self, stores: Stores, tenant: TenantId) -> None:
        await asyncio.gather(*(add(stores, row(tenant), row(tenant, mode="hybrid")) for _ in range(8)))
        found = await stores.usage.rows(tenant, **ALWAYS)
        assert [one.count.queries for one in found] == [8, 8]


class TestMemoryUsageStore(UsageStoreContract):
    @pytest.fixture
    def stores(self) -> Stores:
        return memory_stores()


@pytest.fixture(scope="module")
async def session(neo4j_server: Neo4jAddress) -> AsyncIterator[Neo4jSession]:
    async with neo4j_session(neo4j_server) as session:
        yield session


@pytest.mark.neo4j
class TestNeo4jUsageStore(UsageStoreContract):
    @pytest.fixture
    def stores(self, session: Neo4jSession) -> Stores:
        return neo4j_stores(session)

    async def test_a_row_marked_as_another_tenants_is_found_and_mended(
        self, session: Neo4jSession, stores: Stores, tenant: TenantId
    ) -> None:
        await add(stores, row(tenant))
        key = usage_key(row(tenant).key)
        async with session._driver.session() as writer:
            await (await writer.run("MATCH (n:Usage {key: $key}) SET n.tenant = 'other'", key=key)).consume()
        audit = Neo4jAudit(session)
        damages = [one async for one in audit.damages(tenant)]
        assert [(one.kind, one.id) for one in damages] == [(DamageKind.FOREIGN_TENANT, key)]
        await audit.mend(tenant, damages)
        assert await stores.usage.rows(tenant, **ALWAYS) == [row(tenant)]

    async def test_every_property_is_read_when_a_word_is_looked_for(
        self, session: Neo4jSession, stores: Stores, tenant: TenantId
    ) -> None:
        await add(stores, row(tenant, model="Zenobia"))
        assert "Zenobia" in [one.text async for one in Neo4jAudit(session).texts(tenant)]
