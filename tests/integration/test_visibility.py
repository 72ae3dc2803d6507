"""Who may see what, as a law: a reader is told what a store holding only the visible sources would tell.

In every mode, with scores, order, explanations and refusals; with rights and filters; whatever readers a source had
before. Over the memory graph and Qdrant Edge often, over Neo4j and Qdrant Edge a few times.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from knotwork.adapters.memory.database import MemoryDatabase, matches
from knotwork.adapters.memory.models import HashEmbedder
from knotwork.adapters.memory.outlines import MemoryOutlines
from knotwork.adapters.neo4j.embedded import Neo4jAddress
from knotwork.adapters.neo4j.graph_walk import Neo4jGraphWalk
from knotwork.adapters.neo4j.outlines import Neo4jOutlines
from knotwork.adapters.neo4j.traversals import Neo4jTraversals
from knotwork.adapters.qdrant.edge_store import EdgeVectorStore
from knotwork.bootstrap import cypher_folder, traversal_files
from knotwork.domain.filters import parse_filter
from knotwork.domain.model import EVERYONE, Subject
from knotwork.domain.retrieval import Reader
from knotwork.errors import PlatformError
from knotwork.services.naming import Naming
from knotwork.services.traversals import Traversals
from support.stores import memory_stores, neo4j_session, neo4j_stores
from support.visibility import Document, Library, MemoryGraphWalk, Passage

# Few, and in several spellings, so that documents share them and ties are common.
NAMES = ("Ada", "ADA", "Bob", "Café Bob", "Dan")
VERBS = ("calls", "depends on")
CALLED = (("Ada", "calls", "Quokka", ""),)
ANYBODY: tuple[tuple[Subject, ...], ...] = ((EVERYONE,), ("user:ana",), ("group:sre", "user:ana"), ("user:zed",))
READERS = ((EVERYONE,), (EVERYONE, "user:ana"), (EVERYONE, "group:sre"))
FILTERS = (None, {"team": "sre"}, {"source_id": ["0.md", "2.md"], "n": {"gte": 2}}, {"team": ["web", "sre"]})
QUESTIONS = ("What depends on Ada?", "How is Bob connected to Dan?", "What does the Plan document say of café?")


@st.composite
def passages(draw: st.DrawFn) -> Passage:
    named = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True))
    verb = draw(st.sampled_from(VERBS))
    said = draw(st.sampled_from(["", "short", "a longer word on it"]))
    text = f" {verb} ".join(named) + draw(st.sampled_from(["", " in the plan", " café café"]))
    facts = tuple((one, verb, other, said) for one, other in itertools.pairwise(named))
    return Passage(text, tuple((name, said) for name in named), facts, draw(st.sampled_from(["", "Ada", "Plan"])))


@st.composite
def documents(draw: st.DrawFn) -> list[Document]:
    subjects, metadata = st.sampled_from(ANYBODY), st.sampled_from([{}, {"team": "sre", "n": 2}, {"team": ["web"]}])
    return [
        Document(
            f"{place}.md",
            tuple(draw(st.lists(passages(), min_size=1, max_size=2))),
            draw(subjects),
            draw(st.sampled_from(["", "Plan", "Ada"])),
            draw(metadata),
            draw(st.none() | subjects),
            gone=draw(st.sampled_from([False, False, False, True])),
        )
        for place in range(draw(st.integers(3, 5)))
    ]


def law(examples: int) -> settings:
    return settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
    )


@pytest.fixture(scope="module")
async def vectors(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[EdgeVectorStore]:
    store, embedder = EdgeVectorStore(tmp_path_factory.mktemp("visibility") / "qdrant"), HashEmbedder()
    await store.open()
    await store.prepare(model=embedder.id, dimension=embedder.dimension)
    yield store
    await store.close()


def in_memory(vectors: EdgeVectorStore) -> Library:
    database = MemoryDatabase()
    stores = memory_stores(database)
    return Library(stores, MemoryGraphWalk(stores.graph), MemoryOutlines(database), vectors)


@pytest.fixture(scope="module")
async def in_neo4j(neo4j_server: Neo4jAddress, vectors: EdgeVectorStore) -> AsyncIterator[tuple[Library, Traversals]]:
    async with neo4j_session(neo4j_server) as session:
        stores = neo4j_stores(session)
        files = traversal_files(cypher_folder() / "traversals", is_shipped=True)
        traversals = Traversals(Neo4jTraversals(session), Naming(stores.graph), files, max_rows=1000, timeout_s=10.0)
        yield Library(stores, Neo4jGraphWalk(session), Neo4jOutlines(session), vectors), traversals


def visible_of(
    held: Sequence[Document], subjects: tuple[Subject, ...], asked: dict[str, object] | None
) -> list[Document]:
    """What this reader may see of what is asked for, as if it had never been otherwise."""
    filter_ = parse_filter(asked) if asked else None
    return [
        replace(one, before=None)
        for one in held
        if not one.gone and {*one.subjects} & {*subjects} and matches(one.source(), filter_)
    ]


def differing(restricted: dict[str, object], alone: dict[str, object]) -> list[tuple[str, object, object]]:
    """What is told otherwise."""
    return [
        (key, restricted.get(key), alone.get(key))
        for key in sorted(restricted.keys() | alone.keys())
        if restricted.get(key) != alone.get(key)
    ]


@law(12)
@given(held=documents(), subjects=st.sampled_from(READERS), asked=st.sampled_from(FILTERS))
async def test_a_reader_is_told_what_a_store_of_the_visible_sources_alone_would_tell(
    vectors: EdgeVectorStore,
    held: list[Document],
    subjects: tuple[Subject, ...],
    asked: dict[str, object] | None,
) -> None:
    whole, part = in_memory(vectors), in_memory(vectors)
    everything, alone = await whole.filled(held), await part.filled(visible_of(held, subjects, asked))
    filter_ = parse_filter(asked) if asked else None
    reader = Reader(everything, subjects)
    assert not differing(await whole.told(reader, QUESTIONS, filter_), await part.told(Reader(alone), QUESTIONS))
    only = await part.filled(visible_of(held, subjects, None))
    assert not differing(await whole.explored(reader), await part.explored(Reader(only)))


async def test_what_the_vectors_still_show_of_a_fact_that_the_graph_hides_already_is_not_told(
    vectors: EdgeVectorStore,
) -> None:
    library = in_memory(vectors)
    secret = Document("secret.md", (Passage("Ada calls Quokka.", (("Ada", ""), ("Quokka", "")), CALLED),))
    told = Document("told.md", (Passage("Ada waits for Bob.", (("Ada", ""), ("Bob", ""))),))
    tenant = await library.filled([secret, told])
    reader, question = Reader(tenant, (EVERYONE,)), ["Ada calls quokka"]
    assert "thing:quokka" in repr(await library.told(reader, question))
    closed = replace(secret, subjects=("user:zed",))
    await library.write(tenant, closed)
    await library.stores.graph.move_chunks(tenant, [chunk.id for chunk in closed.chunks()], closed.subjects)
    for key, answer in (await library.told(reader, question)).items():
        assert "thing:quokka" not in repr(answer), key


@pytest.mark.neo4j
@law(3)
@given(held=documents(), subjects=st.sampled_from(READERS), asked=st.sampled_from(FILTERS))
async def test_the_real_stores_tell_a_reader_the_same(
    in_neo4j: tuple[Library, Traversals],
    held: list[Document],
    subjects: tuple[Subject, ...],
    asked: dict[str, object] | None,
) -> None:
    library, traversals = in_neo4j
    everything, alone = await library.filled(held), await library.filled(visible_of(held, subjects, asked))
    filter_ = parse_filter(asked) if asked else None
    reader = Reader(everything, subjects)
    assert not differing(await library.told(reader, QUESTIONS, filter_), await library.told(Reader(alone), QUESTIONS))
    only = await library.filled(visible_of(held, subjects, None)) if asked else alone
    assert not differing(await library.explored(reader), await library.explored(Reader(only)))
    assert not differing(await traversed(traversals, reader), await traversed(traversals, Reader(only)))


async def traversed(traversals: Traversals, reader: Reader) -> dict[str, object]:
    """The rows of every traversal that is shipped."""
    found: dict[str, object] = {}
    for entry in traversals.entries(with_refused=False):
        assert entry.traversal is not None
        given: dict[str, object] = {"field": "n"} if entry.name == "timeline" else {}
        ends = iter(("Ada", "thing:bob"))
        for parameter in entry.traversal.parameters:
            if parameter.default is None:
                given[parameter.name] = next(ends) if parameter.type.value == "ENTITY" else "0.md"
        try:
            _, rows = await traversals.run(reader, entry.name, given)
            found[entry.name] = rows
        except PlatformError as error:
            found[entry.name] = (error.code, str(error), vars(error))
    return found
