"""Contract of GraphAudit, and of what export and verify ask of the graph store and the catalogue."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass

import pytest

from knotwork.adapters.memory.audit import MemoryAudit
from knotwork.adapters.memory.database import MemoryDatabase
from knotwork.adapters.neo4j.audit import Neo4jAudit
from knotwork.adapters.neo4j.embedded import Neo4jAddress
from knotwork.domain.catalogue import AcceptedRun, Run, RunKind, TenantSettings
from knotwork.domain.model import ChunkId, ParsedText, TenantId
from knotwork.ports.audit import GraphAudit
from knotwork.run_ids import new_run_id
from support.stores import (
    Stores,
    doc,
    failed,
    memory_stores,
    neo4j_session,
    neo4j_stores,
    new_tenant,
    put,
    says,
    source_of,
)

TEXT = "Ada knows Bob"


@dataclass(frozen=True, slots=True)
class Audited:
    stores: Stores
    audit: GraphAudit

    async def holding(self, tenant: TenantId, word: str) -> set[str]:
        """Fields that hold a word."""
        return {one.field async for one in self.audit.texts(tenant) if word in one.text}


class GraphAuditContract:  # a subclass adds the `audited` fixture and nothing else
    async def test_what_was_written_through_the_ports_has_no_damage(self, audited: Audited) -> None:
        tenant = new_tenant()
        first, second = await put(audited.stores, tenant, "a", [TEXT, "Eve"])
        (other,) = await put(audited.stores, tenant, "b", [TEXT], subjects=("group:sre",))
        said = [says(first, "Ada", "Bob", facts=[("Ada", "knows", "Bob", "")]), says(other, "Ada"), failed(second)]
        await audited.stores.graph.put_evidence(tenant, said)
        await audited.stores.catalogue.put_sources(tenant, [])
        assert [one async for one in audited.audit.damages(tenant)] == []
        await audited.stores.graph.remove_evidence(tenant, [first])
        await audited.stores.graph.remove_chunks(tenant, [other])
        await audited.stores.catalogue.delete_sources(tenant, [doc("b")])
        assert [one async for one in audited.audit.damages(tenant)] == []

    async def test_mending_nothing_changes_nothing(self, audited: Audited) -> None:
        tenant = new_tenant()
        (chunk,) = await put(audited.stores, tenant, "a", [TEXT])
        await audited.stores.graph.put_evidence(tenant, [says(chunk, "Ada")])
        before = [one async for one in audited.stores.graph.export_graph(tenant)]
        await audited.audit.mend(tenant, [])
        assert [one async for one in audited.stores.graph.export_graph(tenant)] == before

    async def test_every_property_is_read_and_texts_are_unpacked(self, audited: Audited) -> None:
        tenant = new_tenant()
        (chunk,) = await put(audited.stores, tenant, "a", [TEXT], metadata={"note": "Xerxes"})
        await audited.stores.graph.put_evidence(tenant, [says(chunk, ("Ada", "told by Yolanda"))])
        for word in (TEXT, "Xerxes", "Yolanda", "Title of a", "thing:ada"):
            assert await audited.holding(tenant, word), word
        assert await audited.holding(new_tenant(), "Ada") == set()

    async def test_the_text_of_a_run_is_read_while_it_is_kept(self, audited: Audited) -> None:
        tenant = new_tenant()
        await audited.stores.catalogue.put_tenant(tenant, TenantSettings())
        run = Run(new_run_id(), RunKind.INDEX, doc("a"), source=source_of(doc("a")))
        await audited.stores.ledger.accept(tenant, [AcceptedRun(run, ParsedText("Zenobia waits."))])
        assert await audited.holding(tenant, "Zenobia")
        await audited.stores.catalogue.delete_tenant(tenant)
        assert await audited.holding(tenant, "Zenobia") == set()

    async def test_the_evidence_of_chunks_is_what_was_put(self, audited: Audited) -> None:
        tenant = new_tenant()
        first, second, third = await put(audited.stores, tenant, "a", [TEXT, "Eve", "unread"])
        said = says(first, ("Ada", "d"), "Bob", facts=[("Ada", "knows", "Bob", "e")])
        await audited.stores.graph.put_evidence(tenant, [said, failed(second)])
        found = await audited.stores.graph.evidence(tenant, [third, second, first, ChunkId("unknown")])
        assert found.keys() == {first, second}
        assert (found[first], found[second].state) == (said, failed(second).state)
        assert found[second].contribution == failed(second).contribution

    async def test_chunks_are_held_while_they_have_a_source(self, audited: Audited) -> None:
        tenant = new_tenant()
        first, second = await put(audited.stores, tenant, "a", [TEXT, "Eve"])
        await audited.stores.graph.remove_chunks(tenant, [second])
        held = await audited.stores.catalogue.held_chunks(tenant, [first, second, ChunkId("unknown")])
        assert held == {first}
        assert await audited.stores.catalogue.held_chunks(new_tenant(), [first]) == set()


class TestMemoryAudit(GraphAuditContract):
    @pytest.fixture
    def audited(self) -> Audited:
        database = MemoryDatabase()
        return Audited(memory_stores(database), MemoryAudit(database))


@pytest.mark.neo4j
class TestNeo4jAudit(GraphAuditContract):
    @pytest.fixture
    async def audited(self, neo4j_server: Neo4jAddress) -> AsyncGenerator[Audited]:
        async with neo4j_session(neo4j_server) as session:
            yield Audited(neo4j_stores(session), Neo4jAudit(session))
