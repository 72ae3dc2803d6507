"""The promises of the SkillStore port, kept by memory and by Neo4j."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from knotwork.adapters.neo4j.audit import Neo4jAudit
from knotwork.adapters.neo4j.embedded import Neo4jAddress
from knotwork.adapters.neo4j.session import Neo4jSession
from knotwork.domain.catalogue import TenantSettings
from knotwork.domain.damage import DamageKind
from knotwork.domain.ids import content_hash, skill_row_id, storage_key
from knotwork.domain.model import TenantId
from knotwork.domain.skill_graphs import Drawing, DrawnEdge, DrawnNode, GraphVersion, StoredGraph
from knotwork.errors import UnknownTenant
from support.stores import Stores, memory_stores, neo4j_session, neo4j_stores, new_tenant

DRAWING = Drawing(
    (
        DrawnNode("triage", "skill", "triage", "an alert"),
        DrawnNode("苹果: `x`'\"", "skill", "苹果", ""),
        DrawnNode("decision-0", "predicate", "a code?\nor not"),
    ),
    (
        DrawnEdge(None, "triage", "entry", 'names a "code"'),
        DrawnEdge("triage", "苹果: `x`'\"", "on-tool-return", "on search"),
        DrawnEdge("triage", "苹果: `x`'\"", "on-tool-return", "on search"),  # the same once more, on another condition
        DrawnEdge("苹果: `x`'\"", "苹果: `x`'\"", "predicate"),
        DrawnEdge(None, "decision-0", "model"),
    ),
)
SMALL = Drawing((DrawnNode("triage", "skill", "triage"),), (DrawnEdge(None, "triage", "entry"),))


async def put(
    stores: Stores, tenant: TenantId, name: str, text: str, drawing: Drawing = SMALL
) -> tuple[GraphVersion, bool]:
    return await stores.skills.put_graph(tenant, name, version=content_hash(text), declaration=text, drawing=drawing)


class SkillStoreContract:
    """A subclass adds the `stores` fixture and nothing else."""

    @pytest.fixture
    async def tenant(self, stores: Stores) -> TenantId:
        tenant = new_tenant()
        await stores.catalogue.put_tenant(tenant, TenantSettings())
        return tenant

    async def test_a_graph_is_read_and_drawn_as_it_was_put(self, stores: Stores, tenant: TenantId) -> None:
        version, changed = await put(stores, tenant, "on call", "skills: ['☎']\n", DRAWING)
        assert (version, changed) == (GraphVersion("on call", content_hash("skills: ['☎']\n"), 1), True)
        assert await stores.skills.graph(tenant, "on call") == StoredGraph(version, "skills: ['☎']\n")
        assert await stores.skills.drawing(tenant, "on call") == DRAWING

    async def test_an_unknown_tenant_gets_no_graph(self, stores: Stores) -> None:
        tenant = new_tenant()
        with pytest.raises(UnknownTenant):
            await put(stores, tenant, "a", "one")
        assert await stores.skills.graphs(tenant) == []

    async def test_the_present_version_put_again_changes_nothing(self, stores: Stores, tenant: TenantId) -> None:
        first, _ = await put(stores, tenant, "a", "one", DRAWING)
        again, changed = await put(stores, tenant, "a", "one", DRAWING)
        assert (again, changed) == (first, False)
        assert await stores.skills.versions(tenant, "a") == [first]
        assert await stores.skills.drawing(tenant, "a") == DRAWING

    async def test_earlier_versions_are_kept_and_can_be_put_back(self, stores: Stores, tenant: TenantId) -> None:
        await put(stores, tenant, "a", "one", DRAWING)
        second, changed = await put(stores, tenant, "a", "two")
        assert (second.number, changed) == (2, True)
        assert await stores.skills.drawing(tenant, "a") == SMALL
        old = await stores.skills.graph(tenant, "a", content_hash("one"))
        assert old == StoredGraph(GraphVersion("a", content_hash("one"), 1, is_current=False), "one")
        back, changed = await put(stores, tenant, "a", "one", DRAWING)
        assert (back.number, changed) == (1, True)
        versions = await stores.skills.versions(tenant, "a")
        assert [(one.number, one.is_current) for one in versions] == [(1, True), (2, False)]
        assert await stores.skills.drawing(tenant, "a") == DRAWING

    async def test_a_version_of_another_graph_is_none_of_this_one(self, stores: Stores, tenant: TenantId) -> None:
        await put(stores, tenant, "a", "one")
        await put(stores, tenant, "b", "two")
        assert await stores.skills.graph(tenant, "a", content_hash("two")) is None
        assert await stores.skills.graph(tenant, "c") is None
        assert await stores.skills.versions(tenant, "c") == []
        assert await stores.skills.drawing(tenant, "c") == Drawing()

    async def test_graphs_come_by_name_in_pages(self, stores: Stores, tenant: TenantId) -> None:
        names = ["b", "a:b", "a", "\U0001f600", "\uffee", "'"]
        for name in names:
            await put(stores, tenant, name, name)
        found: list[str] = []
        while page := await stores.skills.graphs(tenant, after=found[-1] if found else "", limit=4):
            assert all(one.is_current and one.version == content_hash(one.name) for one in page)
            found += [one.name for one in page]
        assert found == sorted(names)

    async def test_a_deleted_graph_is_gone_with_its_versions(self, stores: Stores, tenant: TenantId) -> None:
        kept, _ = await put(stores, tenant, "b", "one", DRAWING)
        await put(stores, tenant, "a", "one", DRAWING)
        await put(stores, tenant, "a", "two")
        assert await stores.skills.delete_graph(tenant, "a")
        assert not await stores.skills.delete_graph(tenant, "a")
        assert await stores.skills.graph(tenant, "a", content_hash("one")) is None
        assert await stores.skills.graphs(tenant) == [kept]
        assert await stores.skills.drawing(tenant, "b") == DRAWING
        assert (await put(stores, tenant, "a", "two"))[0].number == 1

    async def test_tenants_are_apart(self, stores: Stores, tenant: TenantId) -> None:
        other = new_tenant()
        await stores.catalogue.put_tenant(other, TenantSettings())
        await put(stores, tenant, "a", "one", DRAWING)
        await put(stores, other, "a", "two")
        assert await stores.skills.graph(other, "a", content_hash("one")) is None
        assert await stores.skills.drawing(tenant, "a") == DRAWING
        await stores.catalogue.delete_tenant(tenant)
        assert await stores.skills.graphs(tenant) == []
        assert await stores.skills.drawing(tenant, "a") == Drawing()
        assert await stores.skills.drawing(other, "a") == SMALL

    async def test_writers_at_once_leave_one_of_their_versions_whole(self, stores: Stores, tenant: TenantId) -> None:
        await asyncio.gather(*(put(stores, tenant, "a", str(number % 3), DRAWING) for number in range(6)))
        versions = await stores.skills.versions(tenant, "a")
        assert [one.number for one in versions] == [1, 2, 3]
        assert sum(one.is_current for one in versions) == 1
        assert await stores.skills.drawing(tenant, "a") == DRAWING


class TestMemorySkillStore(SkillStoreContract):
    @pytest.fixture
    def stores(self) -> Stores:
        return memory_stores()


@pytest.fixture(scope="module")
async def session(neo4j_server: Neo4jAddress) -> AsyncIterator[Neo4jSession]:
    async with neo4j_session(neo4j_server) as session:
        yield session


@pytest.mark.neo4j
class TestNeo4jSkillStore(SkillStoreContract):
    @pytest.fixture
    def stores(self, session: Neo4jSession) -> Stores:
        return neo4j_stores(session)

    async def test_the_graph_can_be_looked_at_in_browser(
        self, session: Neo4jSession, stores: Stores, tenant: TenantId
    ) -> None:
        await put(stores, tenant, "a", "one", DRAWING)
        async with session._driver.session() as browser:
            found = await browser.run(
                "MATCH (from {tenant: $tenant})-[r:ROUTE]->(to:Skill) "
                "RETURN labels(from) AS labels, to.label AS to, r.kind AS kind, r.label AS label ORDER BY r.place",
                tenant=tenant,
            )
            rows = [tuple(record.values()) async for record in found]
        assert rows[0] == (["SkillGraph"], "triage", "entry", 'names a "code"')
        assert rows[1] == (["Skill"], "苹果", "on-tool-return", "on search")
        assert len(rows) == len(DRAWING.edges)

    @pytest.mark.parametrize("label", ["SkillGraph", "SkillVersion", "Skill"])
    async def test_a_row_marked_as_another_tenants_is_found_and_mended(
        self, session: Neo4jSession, stores: Stores, tenant: TenantId, label: str
    ) -> None:
        await put(stores, tenant, "a", "one")
        parts = {"SkillVersion": [content_hash("one")], "Skill": ["triage"]}.get(label, [])
        key = storage_key(tenant, skill_row_id("a", *parts))
        async with session._driver.session() as writer:
            await (
                await writer.run("MATCH (n:$($label) {key: $key}) SET n.tenant = 'other'", label=label, key=key)
            ).consume()
        audit = Neo4jAudit(session)
        damages = [one async for one in audit.damages(tenant)]
        assert [(one.kind, one.id) for one in damages] == [(DamageKind.FOREIGN_TENANT, key)]
        await audit.mend(tenant, damages)
        assert [one async for one in audit.damages(tenant)] == []
        assert await stores.skills.drawing(tenant, "a") == SMALL

    async def test_every_property_is_read_when_a_word_is_looked_for(
        self, session: Neo4jSession, stores: Stores, tenant: TenantId
    ) -> None:
        await put(stores, tenant, "Zenobia", "Yolanda", DRAWING)
        texts = [one.text async for one in Neo4jAudit(session).texts(tenant)]
        for word in ("Zenobia", "Yolanda", "an alert", 'names a "code"'):
            assert word in texts
