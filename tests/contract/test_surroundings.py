"""What GraphStore promises a walk: the surroundings of names and chunks, by memory and by Neo4j."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from knotwork.adapters.neo4j.embedded import Neo4jAddress
from knotwork.adapters.neo4j.session import Neo4jSession
from knotwork.domain.catalogue import Evidence, ExtractionState
from knotwork.domain.filters import parse_filter
from knotwork.domain.model import EVERYONE, ChunkId, EntityId, RelationshipId, TenantId
from knotwork.domain.sanitise import sanitise_extraction
from knotwork.domain.surroundings import ChunkSurroundings, NameSurroundings, Surroundings
from knotwork.ports.vector_store import View
from support.stores import (
    Stores,
    doc,
    memory_stores,
    neo4j_session,
    neo4j_stores,
    new_tenant,
    put,
    says,
    source_write,
)

ALL = View()
ANA, BEN = View(subjects=(EVERYONE, "user:ana")), View(subjects=(EVERYONE, "user:ben"))
ADA, BOB = EntityId("thing:ada"), EntityId("thing:bob")
KNOWS = RelationshipId("thing:ada|knows|thing:bob")
ADA_KNOWS_BOB = ("Ada", "knows", "Bob", "")


class SurroundingsContract:
    """A subclass adds the `stores` fixture and nothing else."""

    @pytest.fixture
    def tenant(self) -> TenantId:
        return new_tenant()

    async def around(
        self, stores: Stores, tenant: TenantId, *names: str, chunks: list[ChunkId] | None = None, view: View = ALL
    ) -> Surroundings:
        return await stores.graph.surroundings(tenant, names=names, chunks=chunks or [], view=view, hub_mentions=2)

    async def test_a_name_is_tied_to_chunks_and_facts_and_a_chunk_to_entities(
        self, stores: Stores, tenant: TenantId
    ) -> None:
        a, b = await put(stores, tenant, "a.md", ["one", "two"])
        await stores.graph.put_evidence(tenant, [says(a, "Ada", "Bob", facts=[ADA_KNOWS_BOB]), says(b, "Ada")])
        assert await self.around(stores, tenant, "bob", "ada", "ada", "nobody", chunks=[b, a, b]) == Surroundings(
            (
                NameSurroundings("ada", 2, (ADA,), tuple(sorted([a, b])), facts=((KNOWS, 1),)),
                NameSurroundings("bob", 1, (BOB,), (a,), facts=((KNOWS, 1),)),
            ),
            tuple(sorted([ChunkSurroundings(a, ((ADA, 2), (BOB, 1))), ChunkSurroundings(b, ((ADA, 2),))], key=_id)),
        )

    async def test_a_chunk_under_a_title_or_heading_that_is_the_name_is_about_it(
        self, stores: Stores, tenant: TenantId
    ) -> None:
        write = source_write(doc("a.md"), ["one", "two", "three", "four"])
        titled = [
            replace(write.chunks[0], title="The ADA (film)"),
            replace(write.chunks[1], title="Notes", headings=("Part", "Ada")),
            replace(write.chunks[2], title="Notes on Ada", headings=("Ada", "Part")),
            write.chunks[3],
        ]
        await stores.catalogue.put_sources(tenant, [replace(write, chunks=titled)])
        ids = [chunk.id for chunk in titled]
        await stores.graph.put_evidence(tenant, [says(id_, "Ada") for id_ in ids[:3]])
        [found] = (await stores.graph.surroundings(tenant, names=["ada"], chunks=[], view=ALL, hub_mentions=3)).names
        assert found.chunks == tuple(sorted(ids[:3]))
        assert found.about == tuple(sorted(ids[:2]))

    async def test_a_name_stands_for_its_entities_of_every_type(self, stores: Stores, tenant: TenantId) -> None:
        a, b = await put(stores, tenant, "a.md", ["one", "two"])
        other = sanitise_extraction(b, {"entities": [{"name": "ADA", "type": "person"}]})
        await stores.graph.put_evidence(tenant, [says(a, "Ada"), Evidence(b, "key-1", ExtractionState.DONE, other)])
        found = await self.around(stores, tenant, "ada")
        assert found.names == (NameSurroundings("ada", 2, (EntityId("person:ada"), ADA), tuple(sorted([a, b]))),)

    async def test_a_hub_is_counted_and_not_opened(self, stores: Stores, tenant: TenantId) -> None:
        chunks = await put(stores, tenant, "a.md", ["one", "two", "three"])
        await stores.graph.put_evidence(tenant, [says(one, "Ada", "Bob", facts=[ADA_KNOWS_BOB]) for one in chunks])
        assert (await self.around(stores, tenant, "ada")).names == (NameSurroundings("ada", 3, (ADA,)),)

    async def test_a_hub_of_which_a_reader_sees_little_is_none_to_that_reader(
        self, stores: Stores, tenant: TenantId
    ) -> None:
        hidden = await put(stores, tenant, "a.md", ["one", "two", "three"], subjects=["user:ana"])
        (shown,) = await put(stores, tenant, "b.md", ["four"])
        await stores.graph.put_evidence(
            tenant, [says(one, "Ada", "Bob", facts=[ADA_KNOWS_BOB]) for one in [*hidden, shown]]
        )
        found = await self.around(stores, tenant, "ada", chunks=[*hidden, shown], view=BEN)
        assert found == Surroundings(
            (NameSurroundings("ada", 1, (ADA,), (shown,), facts=((KNOWS, 1),)),),
            (ChunkSurroundings(shown, ((ADA, 1), (BOB, 1))),),
        )
        assert (await self.around(stores, tenant, "ada", view=ANA)).names == (NameSurroundings("ada", 4, (ADA,)),)

    async def test_what_a_reader_may_not_see_does_not_exist(self, stores: Stores, tenant: TenantId) -> None:
        (a,) = await put(stores, tenant, "a.md", ["one"], subjects=["user:ana"])
        (b,) = await put(stores, tenant, "b.md", ["two"])
        await stores.graph.put_evidence(tenant, [says(a, "Ada", "Bob", facts=[ADA_KNOWS_BOB]), says(b, "Bob")])
        found = await self.around(stores, tenant, "ada", "bob", chunks=[a, b], view=BEN)
        assert found == Surroundings((NameSurroundings("bob", 1, (BOB,), (b,)),), (ChunkSurroundings(b, ((BOB, 1),)),))

    async def test_a_filter_counts_the_evidence_of_its_sources_only(self, stores: Stores, tenant: TenantId) -> None:
        hidden = await put(stores, tenant, "a.md", ["one", "two", "three"], metadata={"team": "web"})
        (shown,) = await put(stores, tenant, "b.md", ["four"], metadata={"team": "sre"})
        await stores.graph.put_evidence(
            tenant, [says(one, "Ada", "Bob", facts=[ADA_KNOWS_BOB]) for one in [*hidden, shown]]
        )
        view = View((EVERYONE,), parse_filter({"team": "sre"}))
        assert await self.around(stores, tenant, "ada", chunks=[*hidden, shown], view=view) == Surroundings(
            (NameSurroundings("ada", 1, (ADA,), (shown,), facts=((KNOWS, 1),)),),
            (ChunkSurroundings(shown, ((ADA, 1), (BOB, 1))),),
        )
        assert (
            await self.around(stores, tenant, "ada", chunks=hidden, view=View(filter=parse_filter({"team": "x"})))
            == Surroundings()
        )

    async def test_an_unread_chunk_mentions_nothing(self, stores: Stores, tenant: TenantId) -> None:
        (a,) = await put(stores, tenant, "a.md", ["one"])
        assert (await self.around(stores, tenant, chunks=[a])).chunks == (ChunkSurroundings(a, ()),)

    async def test_tenants_are_apart(self, stores: Stores, tenant: TenantId) -> None:
        (a,) = await put(stores, tenant, "a.md", ["one"])
        await stores.graph.put_evidence(tenant, [says(a, "Ada")])
        assert await self.around(stores, new_tenant(), "ada", chunks=[a]) == Surroundings()


def _id(one: ChunkSurroundings) -> ChunkId:
    return one.id


class TestMemorySurroundings(SurroundingsContract):
    @pytest.fixture
    def stores(self) -> Stores:
        return memory_stores()


@pytest.fixture(scope="module")
async def session(neo4j_server: Neo4jAddress) -> AsyncIterator[Neo4jSession]:
    async with neo4j_session(neo4j_server) as session:
        yield session


@pytest.mark.neo4j
class TestNeo4jSurroundings(SurroundingsContract):
    @pytest.fixture
    def stores(self, session: Neo4jSession) -> Stores:
        return neo4j_stores(session)
