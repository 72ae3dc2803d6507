"""Neo4j beside memory, which merges anew on each read: after any changes both tell every reader the same."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Sequence
from typing import TypeAlias

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from knotwork.adapters.neo4j.embedded import Neo4jAddress
from knotwork.domain import audiences
from knotwork.domain.catalogue import Evidence, ExtractionState
from knotwork.domain.filters import parse_filter
from knotwork.domain.ids import split_entity_id
from knotwork.domain.merge import merge_contributions
from knotwork.domain.model import EVERYONE, ChunkId, Contribution, Metadata, SourceRef, Subject, TenantId
from knotwork.domain.sanitise import sanitise_extraction
from knotwork.errors import ProvenanceMissing
from knotwork.ports.catalogue import SourceWrite
from knotwork.ports.vector_store import View
from support.stores import (
    Stores,
    chunk_of,
    exported,
    memory_stores,
    neo4j_session,
    neo4j_stores,
    new_tenant,
    source_write,
)

pytestmark = pytest.mark.neo4j

REFS = [SourceRef("document", name) for name in ("a.md", "\uffee 'b`", "😀")]
TEXTS = ["one", "two", "three"]
CHUNKS = [chunk_of(ref, text) for ref in REFS for text in TEXTS]
KEYS = ["key-1", "key-2"]

# Few of each, so that things meet; the code points beyond the BMP sort otherwise in UTF-16.
NAMES = st.sampled_from(["Ada", "😀 ada", "\uffee ada", "Bob", "bob!", "𠀀", "﨎"])
DESCRIPTIONS = st.sampled_from(["", "aa", "ab", "😀x", "\uffeex", "longer"])
TYPES = st.sampled_from(["person", "team"])
RAW = st.fixed_dictionaries(
    {
        "entities": st.lists(
            st.fixed_dictionaries({"name": NAMES, "type": st.just("person"), "description": DESCRIPTIONS}),
            min_size=2,
            max_size=5,
        ),
        "relationships": st.lists(
            st.fixed_dictionaries({"from": NAMES, "to": NAMES, "type": TYPES, "description": DESCRIPTIONS}), max_size=3
        ),
    }
)
SUBJECTS = st.sampled_from([[EVERYONE], ["user:ana"], ["user:ben"], ["user:ana", "user:ben"]])
SOME_CHUNKS = st.lists(st.sampled_from(CHUNKS), min_size=1, max_size=4)
FILTERS = st.sampled_from([{}, {}, {"source_id": [REFS[0].id, REFS[2].id]}, {"team": "sre"}, {"n": {"gte": 2}}])


def evidence_of(chunk: ChunkId, key: str, raw: dict[str, object], fails: bool) -> Evidence:
    if fails:
        return Evidence(chunk, key, ExtractionState.FAILED, Contribution())
    contribution = sanitise_extraction(chunk, raw)
    state = ExtractionState.DONE if contribution.entities else ExtractionState.EMPTY
    return Evidence(chunk, key, state, contribution)


def written(ref: SourceRef, texts: list[str], subjects: list[Subject], metadata: Metadata) -> SourceWrite:
    return source_write(ref, texts, subjects=subjects, metadata=metadata)


def view_of(subjects: tuple[Subject, ...] | None, fields: dict[str, object]) -> View:
    return View(subjects, parse_filter(fields) if fields else None)


Change: TypeAlias = tuple[str, object]

WRITES = st.builds(
    written,
    st.sampled_from(REFS),
    st.permutations(TEXTS).flatmap(lambda texts: st.integers(1, 3).map(lambda count: list(texts)[:count])),
    SUBJECTS,
    st.sampled_from([{}, {"team": "sre", "n": 1}, {"team": ["web", "sre"], "n": [1, 2.5]}]),
)
EVIDENCE = st.builds(
    evidence_of, st.sampled_from(CHUNKS), st.sampled_from(KEYS), RAW, st.sampled_from([False] * 5 + [True])
)
CHANGES = st.lists(
    st.one_of(
        st.lists(EVIDENCE, min_size=1, max_size=5).map(lambda one: ("put_evidence", one)),
        st.lists(EVIDENCE, min_size=1, max_size=5).map(lambda one: ("put_evidence", one)),
        st.lists(WRITES, min_size=1, max_size=2, unique_by=lambda one: one.source.ref).map(
            lambda one: ("put_sources", one)
        ),
        SOME_CHUNKS.map(lambda one: ("remove_evidence", one)),
        SOME_CHUNKS.map(lambda one: ("remove_chunks", one)),
        st.tuples(SOME_CHUNKS, SUBJECTS).map(lambda one: ("move_chunks", one)),
    ),
    min_size=1,
    max_size=8,
)
VIEWS = st.builds(
    view_of,
    st.none() | SUBJECTS.map(tuple[Subject, ...]),
    FILTERS,
)


@pytest.fixture(scope="module")
async def neo4j(neo4j_server: Neo4jAddress) -> AsyncIterator[Stores]:
    async with neo4j_session(neo4j_server) as session:
        yield neo4j_stores(session)


async def carry_out(stores: Stores, tenant: TenantId, change: Change) -> object:
    """Do it; what it said, or that it was refused."""
    match change:
        case ("put_sources", list() as writes):
            await stores.catalogue.put_sources(tenant, writes)
        case ("put_evidence", list() as evidence):
            try:
                return await stores.graph.put_evidence(tenant, evidence)
            except ProvenanceMissing as error:
                return error.found, error.expected
        case ("remove_evidence", list() as chunks):
            return await stores.graph.remove_evidence(tenant, chunks)
        case ("remove_chunks", list() as chunks):
            return await stores.graph.remove_chunks(tenant, chunks)
        case ("move_chunks", (list() as chunks, list() as subjects)):
            await stores.graph.move_chunks(tenant, chunks, subjects)
        case _:
            raise AssertionError(change)
    return None


async def all_seen(stores: Stores, tenant: TenantId, view: View) -> list[object]:
    """Everything a reader can learn of the graph."""
    graph = stores.graph
    entities = await graph.search_entities(tenant, "", view=view)
    ids = [one.id for one in entities]
    every = await graph.relationships_of(tenant, ids, view=view, limit=99, chunk_limit=2)
    names = [split_entity_id(id_)[1] for id_ in ids]
    return [
        await graph.surroundings(tenant, names=names, chunks=CHUNKS, view=view, hub_mentions=99),
        await graph.surroundings(tenant, names=names, chunks=CHUNKS, view=view, hub_mentions=1),
        entities,
        await graph.entities(tenant, ids, view=view),
        every,
        await graph.relationships_of(tenant, ids, view=view, limit=1, chunk_limit=9),
        await graph.relationships(tenant, [one.id for one in every], view=view, chunk_limit=9),
        await graph.chunks_naming(tenant, ids, view=view, limit=2),
        [await graph.mentions(tenant, id_, view=view) for id_ in ids[:2]],
    ]


async def all_stored(stores: Stores, tenant: TenantId) -> list[object]:
    """What the graph is, apart from readers, and what the vector store is told of it."""
    graph = await exported(stores.graph, tenant)
    ids = [one.id for one in graph.entities], [one.id for one in graph.relationships]
    return [
        graph,
        await stores.graph.readers(tenant, *ids),
        [(sync.entities, sync.relationships) for sync in await stores.graph.pending_syncs(tenant)],
        await stores.graph.contributions(tenant, KEYS),
        await stores.catalogue.states(tenant, REFS),
        await stores.catalogue.counts(tenant),
    ]


@pytest.fixture(autouse=True)
def hubs_from_two_mentions_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept of hubs alone, of these few chunks too."""
    monkeypatch.setattr(audiences, "SPARES_FROM", 2)
    monkeypatch.setattr(audiences, "SPARES", 2)


@settings(
    max_examples=22,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    first=st.lists(EVIDENCE, min_size=5, max_size=9, unique_by=lambda one: one.chunk_id),
    changes=CHANGES,
    views=st.lists(VIEWS, min_size=9, max_size=9),
)
async def test_after_any_changes_both_tell_the_same(
    neo4j: Stores, first: Sequence[Evidence], changes: Sequence[Change], views: Sequence[View]
) -> None:
    memory, tenant = memory_stores(), new_tenant()
    subjects = [[EVERYONE], ["user:ana", "user:ben"], ["user:ana"]]
    sources = [
        source_write(ref, TEXTS, subjects=own, metadata={"team": "sre", "n": number})
        for number, (ref, own) in enumerate(zip(REFS, subjects, strict=True))
    ]
    for change, view in zip(
        [("put_sources", sources), ("put_evidence", first), *changes], [View(), *views], strict=False
    ):
        note(f"{change} seen by {view}")
        assert await carry_out(neo4j, tenant, change) == await carry_out(memory, tenant, change)
        assert await all_stored(neo4j, tenant) == await all_stored(memory, tenant)
        assert await all_seen(neo4j, tenant, view) == await all_seen(memory, tenant, view)


@settings(
    max_examples=10,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(evidence=st.lists(EVIDENCE, min_size=2, max_size=9, unique_by=lambda one: one.chunk_id), order=st.randoms())
async def test_neither_order_nor_detours_show_in_the_export(
    neo4j: Stores, evidence: list[Evidence], order: random.Random
) -> None:
    tenant = new_tenant()
    await neo4j.catalogue.put_sources(tenant, [source_write(ref, TEXTS) for ref in REFS])
    detours = order.sample(evidence, len(evidence))
    for one in detours:
        await neo4j.graph.put_evidence(tenant, [one])
    for one in detours[::2]:
        await neo4j.graph.remove_evidence(tenant, [one.chunk_id])
    order.shuffle(detours)
    for one in detours:
        await neo4j.graph.put_evidence(tenant, [one])
    assert await exported(neo4j.graph, tenant) == merge_contributions(one.contribution for one in evidence)
    await neo4j.graph.remove_evidence(tenant, CHUNKS)
    assert await exported(neo4j.graph, tenant) == Contribution()
