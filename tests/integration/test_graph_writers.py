"""Several writers at one Neo4j: no deadlock and no lost row reaches a caller, and the result is that of one writer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from itertools import pairwise

import pytest

from knotwork.adapters.neo4j.embedded import Neo4jAddress
from knotwork.adapters.neo4j.session import Neo4jSession
from knotwork.domain.catalogue import Evidence
from knotwork.domain.merge import merge_contributions
from knotwork.domain.model import EVERYONE, ChunkId, TenantId
from knotwork.ports.vector_store import View
from support.stores import Stores, doc, exported, memory_stores, neo4j_session, neo4j_stores, new_tenant, put, says

pytestmark = pytest.mark.neo4j

FIVE = ["Ada", "Bob", "Cat", "Dee", "Eve"]
WRITERS = 8


@pytest.fixture(scope="module")
async def session(neo4j_server: Neo4jAddress) -> AsyncIterator[Neo4jSession]:
    async with neo4j_session(neo4j_server) as session:
        yield session


@pytest.fixture
def stores(session: Neo4jSession) -> Stores:
    return neo4j_stores(session)


@pytest.fixture
def tenant() -> TenantId:
    return new_tenant()


def about_all_five(chunk: ChunkId, writer: int) -> Evidence:
    """Names the same five, forwards or backwards, in spellings and descriptions of the writer's own."""
    people = FIVE if writer % 2 else FIVE[::-1]
    named = [(name.upper() if writer == 3 else name, f"{name} by {writer}" * (writer + 1)) for name in people]
    facts = [(a, "knows", b, f"by {writer}") for a, b in pairwise(people)]
    return says(chunk, *named, facts=facts)


async def chunks_of_writers(stores: Stores, tenant: TenantId, texts: Sequence[str]) -> list[list[ChunkId]]:
    return [
        await put(stores, tenant, f"{writer}.md", texts, subjects=[EVERYONE if writer % 3 else "user:ana"])
        for writer in range(WRITERS)
    ]


async def assert_same_as_memory(stores: Stores, tenant: TenantId, evidence: Sequence[Evidence]) -> None:
    """What the graph says, to everyone and to a reader, is what one writer would have made of this evidence."""
    oracle = memory_stores()
    await chunks_of_writers(oracle, tenant, ["one", "two", "three"])
    await oracle.graph.put_evidence(tenant, evidence)
    assert await exported(stores.graph, tenant) == merge_contributions(one.contribution for one in evidence)
    for view in (View(), View(subjects=(EVERYONE,)), View(subjects=("user:ana",))):
        expected = await oracle.graph.search_entities(tenant, "", view=view)
        assert await stores.graph.search_entities(tenant, "", view=view) == expected
        ids = [one.id for one in expected]
        of = await oracle.graph.relationships_of(tenant, ids, view=view, limit=9, chunk_limit=99)
        assert await stores.graph.relationships_of(tenant, ids, view=view, limit=9, chunk_limit=99) == of


async def test_eight_writers_of_the_same_five_entities_in_opposite_order(stores: Stores, tenant: TenantId) -> None:
    chunks = await chunks_of_writers(stores, tenant, ["one", "two", "three"])
    evidence = [[about_all_five(chunk, writer) for chunk in own] for writer, own in enumerate(chunks)]

    async def write(own: Sequence[Evidence]) -> None:
        for one in own:
            await stores.graph.put_evidence(tenant, [one])

    await asyncio.gather(*map(write, evidence))
    await assert_same_as_memory(stores, tenant, [one for own in evidence for one in own])


async def test_removals_race_with_additions_that_name_the_same_entities(stores: Stores, tenant: TenantId) -> None:
    chunks = await chunks_of_writers(stores, tenant, ["one", "two", "three"])
    kept: list[Evidence] = []

    async def write(writer: int, own: Sequence[ChunkId]) -> None:
        """Each removal may take the last evidence there is, while another writer adds some."""
        for _ in range(3):
            for chunk in own:
                await stores.graph.put_evidence(tenant, [about_all_five(chunk, writer)])
            await stores.graph.remove_evidence(tenant, own)
        if writer == 0:
            await stores.graph.put_evidence(tenant, [about_all_five(own[0], writer)])
            kept.append(about_all_five(own[0], writer))

    await asyncio.gather(*(write(writer, own) for writer, own in enumerate(chunks)))
    await assert_same_as_memory(stores, tenant, kept)


async def test_the_last_holder_goes_while_another_comes(stores: Stores, tenant: TenantId) -> None:
    chunks = [(await put(stores, tenant, f"{writer}.md", ["one"]))[0] for writer in range(WRITERS)]

    async def write(chunk: ChunkId) -> None:
        for _ in range(8):
            await stores.graph.put_evidence(tenant, [says(chunk, "Ada", "Bob", facts=[("Ada", "knows", "Bob", "")])])
            await stores.graph.remove_evidence(tenant, [chunk])

    await asyncio.gather(*map(write, chunks))
    assert await stores.catalogue.counts(tenant) == {"sources": 8, "chunks": 8, "entities": 0, "relationships": 0}


async def test_reads_during_removals_and_additions_give_an_answer(stores: Stores, tenant: TenantId) -> None:
    (a,), (b,) = await put(stores, tenant, "a.md", ["one"]), await put(stores, tenant, "b.md", ["two"])
    writing = True

    async def write() -> None:
        nonlocal writing
        for _ in range(15):
            await stores.graph.put_evidence(tenant, [about_all_five(a, 1)])
            await stores.graph.move_chunks(tenant, [a], ["user:ana"])
            await stores.graph.remove_evidence(tenant, [a])
            await stores.graph.put_evidence(tenant, [about_all_five(b, 2)])
            await stores.graph.remove_evidence(tenant, [b])
        writing = False

    async def read() -> None:
        while writing:
            ids = [one.id for one in await stores.graph.search_entities(tenant, "", view=View())]
            await stores.graph.relationships_of(tenant, ids, view=View(), limit=9, chunk_limit=9)
            await stores.graph.readers(tenant, ids, [])
            await exported(stores.graph, tenant)
            await stores.graph.contributions(tenant, ["key-1"])

    await asyncio.gather(write(), read(), read())
    assert await stores.graph.search_entities(tenant, "", view=View()) == []


async def test_one_chunk_written_by_all_at_once_counts_once(stores: Stores, tenant: TenantId) -> None:
    (chunk,) = await put(stores, tenant, "0.md", ["one"])
    evidence = about_all_five(chunk, 1)
    await asyncio.gather(*(stores.graph.put_evidence(tenant, [evidence]) for _ in range(WRITERS)))
    assert [one.mentions for one in await stores.graph.search_entities(tenant, "", view=View())] == [1] * len(FIVE)
    assert await exported(stores.graph, tenant) == evidence.contribution


async def test_six_writes_of_one_source_at_once_make_one_source(stores: Stores, tenant: TenantId) -> None:
    await asyncio.gather(*(put(stores, tenant, "a.md", ["one", "two"]) for _ in range(6)))
    assert await stores.catalogue.counts(tenant) == {"sources": 1, "chunks": 2, "entities": 0, "relationships": 0}
    assert len((await stores.catalogue.states(tenant, [doc("a.md")]))[doc("a.md")].chunks) == 2


async def schema_of(session: Neo4jSession) -> tuple[list[str], list[str]]:
    """Names of the constraints, and of the indexes but for those that every database has."""
    async with session._driver.session() as own:
        constraints = await (await own.run("SHOW CONSTRAINTS YIELD name")).value()
        indexes = await (await own.run("SHOW INDEXES YIELD name, type WHERE type <> 'LOOKUP'")).value()
    return sorted(constraints), sorted(indexes)


async def test_those_who_start_together_on_an_empty_database_make_its_schema_together(
    session: Neo4jSession, neo4j_server: Neo4jAddress
) -> None:
    made = await schema_of(session)
    assert all(made)
    try:
        async with session._driver.session() as own:
            for name in made[0]:
                await (await own.run(f"DROP CONSTRAINT `{name}`")).consume()  # pyright: ignore[reportArgumentType] - a name that Neo4j gave
            for name in (await schema_of(session))[1]:
                await (await own.run(f"DROP INDEX `{name}`")).consume()  # pyright: ignore[reportArgumentType] - as above
        assert await schema_of(session) == ([], [])

        async def start() -> None:
            async with neo4j_session(neo4j_server):  # with a driver of its own, as a process has
                pass

        await asyncio.gather(*(start() for _ in range(4)))
        assert await schema_of(session) == made
    finally:
        await session.apply_schema()  # other tests need it
