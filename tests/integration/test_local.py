"""Mode local over the memory graph and Qdrant Edge, and over Neo4j: what readers get, in any order of ingest."""

from __future__ import annotations

import itertools
import random
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from knotwork.adapters.memory.models import HashEmbedder
from knotwork.adapters.neo4j.embedded import Neo4jAddress
from knotwork.adapters.qdrant.edge_store import EdgeVectorStore
from knotwork.domain.filters import parse_filter
from knotwork.domain.model import EVERYONE, Chunk, Subject, TenantId
from knotwork.domain.normalise import normalise_name
from knotwork.domain.retrieval import Reader, RetrievalResult, RetrieveOptions
from knotwork.ports.models import Embeddings
from knotwork.ports.vector_store import Collection, View
from knotwork.services.local import LocalRetriever
from knotwork.services.local_walk import Walk, chunk_node, name_node
from knotwork.services.points import chunk_point
from knotwork.services.vector_sync import VectorSync
from support.stores import Stores, doc, memory_stores, neo4j_session, neo4j_stores, put, says, source_of

WORDS = ["Ada", "Bob", "Cat", "Dan", "Eve"]
tenants = (TenantId(f"local-{number}") for number in itertools.count())


@dataclass(frozen=True, slots=True)
class Document:
    """One source: each passage names some words, and each word acts on the next one."""

    name: str
    passages: tuple[tuple[str, ...], ...]
    subjects: tuple[Subject, ...] = (EVERYONE,)
    team: str = "web"


SUBJECTS = st.sampled_from([(EVERYONE,), ("user:ana",), ("user:ben",), ("user:ana", "user:ben")])
PASSAGES = st.lists(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=3, unique=True).map(tuple), min_size=1, max_size=3
).map(tuple)
DOCUMENTS = st.lists(st.tuples(PASSAGES, SUBJECTS, st.sampled_from(["web", "sre"])), min_size=2, max_size=6).map(
    lambda found: [Document(f"{number}.md", *one) for number, one in enumerate(found)]
)
QUESTIONS = st.lists(st.sampled_from([*WORDS, "acts", "nobody"]), min_size=1, max_size=4).map(" ".join)
FEW = settings(
    max_examples=10,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(scope="module")
async def vectors(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[EdgeVectorStore]:
    store, embedder = EdgeVectorStore(tmp_path_factory.mktemp("local") / "qdrant"), HashEmbedder()
    await store.open()
    await store.prepare(model=embedder.id, dimension=embedder.dimension)
    yield store
    await store.close()


@pytest.fixture(scope="module")
async def neo4j(neo4j_server: Neo4jAddress) -> AsyncIterator[Stores]:
    async with neo4j_session(neo4j_server) as session:
        yield neo4j_stores(session)


async def fill(
    stores: Stores, vectors: EdgeVectorStore, documents: Sequence[Document], embedder: HashEmbedder | None = None
) -> TenantId:
    """Write these documents, one after the other, into a tenant of their own."""
    tenant, embedder = next(tenants), embedder or HashEmbedder()
    for document in documents:
        # Distinct texts, so that a chunk's id does not depend on which others there are.
        texts = [f"{' acts '.join(words)} in {document.name} {place}" for place, words in enumerate(document.passages)]
        subjects, metadata = document.subjects, {"team": document.team}
        ids = await put(stores, tenant, document.name, texts, subjects=subjects, metadata=metadata)
        facts = [[(a, "acts", b, "") for a, b in itertools.pairwise(words)] for words in document.passages]
        await stores.graph.put_evidence(
            tenant,
            [says(id_, *words, facts=own) for id_, words, own in zip(ids, document.passages, facts, strict=True)],
        )
        source = source_of(doc(document.name), subjects=subjects, metadata=metadata)
        embedded = (await embedder.embed(texts)).vectors
        chunks = [
            Chunk(id_, source.ref, place, text, 0, len(text), "")
            for place, (id_, text) in enumerate(zip(ids, texts, strict=True))
        ]
        points = [
            chunk_point(source, chunk, embedder.id, vector) for chunk, vector in zip(chunks, embedded, strict=True)
        ]
        await vectors.upsert(tenant, Collection.CHUNKS, points)
    await VectorSync(stores.graph, vectors, embedder).follow(tenant)
    return tenant


async def ask(
    stores: Stores, vectors: EdgeVectorStore, reader: Reader, question: str, **fields: object
) -> RetrievalResult:
    options = RetrieveOptions(top_k=20, filter=parse_filter(fields) if fields else None, explain=True)
    return await LocalRetriever(stores.graph, vectors, HashEmbedder()).retrieve_with_usage(reader, question, options)


@FEW
@given(documents=DOCUMENTS, question=QUESTIONS, subjects=SUBJECTS, team=st.sampled_from([None, "sre"]))
async def test_a_reader_gets_what_a_store_of_the_visible_sources_alone_gives(
    vectors: EdgeVectorStore,
    documents: list[Document],
    question: str,
    subjects: tuple[Subject, ...],
    team: str | None,
) -> None:
    may_read = {*subjects, EVERYONE}
    visible = [one for one in documents if may_read & {*one.subjects} and team in {None, one.team}]
    whole, part = memory_stores(), memory_stores()
    everything, alone = await fill(whole, vectors, documents), await fill(part, vectors, visible)
    asked = {} if team is None else {"team": team}
    restricted = await ask(whole, vectors, Reader(everything, tuple(sorted(may_read))), question, **asked)
    assert restricted == await ask(part, vectors, Reader(alone), question)


@FEW
@given(documents=DOCUMENTS, question=QUESTIONS, order=st.randoms())
async def test_the_order_of_ingest_does_not_matter(
    vectors: EdgeVectorStore, documents: list[Document], question: str, order: random.Random
) -> None:
    one, other = memory_stores(), memory_stores()
    first = await fill(one, vectors, documents)
    second = await fill(other, vectors, order.sample(documents, len(documents)))
    assert await ask(one, vectors, Reader(first), question) == await ask(other, vectors, Reader(second), question)


TRAIL = [
    Document("a.md", (("Ada", "Bob"),)),
    Document("b.md", (("Bob", "Cat"), ("Cat", "Dan"))),
    Document("c.md", (("Dan", "Eve"),), ("user:ana",), "sre"),
    Document("d.md", (("Fay",), ("Gil",))),
]


@pytest.mark.neo4j
@pytest.mark.parametrize("subjects", [None, (EVERYONE,), (EVERYONE, "user:ana")])
@pytest.mark.parametrize("team", [None, "web"])
async def test_neo4j_and_memory_answer_alike(
    vectors: EdgeVectorStore, neo4j: Stores, subjects: tuple[Subject, ...] | None, team: str | None
) -> None:
    asked = {} if team is None else {"team": team}
    memory = memory_stores()
    kept = await fill(memory, vectors, TRAIL)
    stored = await fill(neo4j, vectors, TRAIL[::-1])
    wanted = await ask(memory, vectors, Reader(kept, subjects), "whom does Ada act on?", **asked)
    assert await ask(neo4j, vectors, Reader(stored, subjects), "whom does Ada act on?", **asked) == wanted


async def test_an_answer_tells_the_chain_of_facts_that_led_to_each_passage(vectors: EdgeVectorStore) -> None:
    stores = memory_stores()
    tenant = await fill(stores, vectors, TRAIL)
    result = await ask(stores, vectors, Reader(tenant), "Ada?")
    assert result.passages[0].score == 1.0
    assert result.passages[0].source == doc("a.md")
    [found] = [one for one in result.passages if one.text.startswith("Cat acts Dan")]
    steps = found.metadata["chain"]
    assert isinstance(steps, list)
    assert [step["name"] for step in steps if "name" in step] == [
        "bob",
        "cat",
    ]  # Bob: of the fact nearest to the question
    assert [step["by"]["id"] for step in steps if "by" in step] == ["thing:bob|acts|thing:cat"]
    assert steps[-1]["passage"] == found.id
    assert [fact["id"] for fact in found.metadata["relationships"]] == ["thing:cat|acts|thing:dan"]  # type: ignore[attr-defined,index]  # JSON
    assert result.explanation is not None
    seeds = result.explanation["seeds"]
    assert isinstance(seeds, list)
    assert {"named in the question", "in a fact near the question", "near the question"} == {
        seed["because"] for seed in seeds
    }
    assert sum(seed["weight"] for seed in seeds) == pytest.approx(1)


async def test_a_passage_that_nothing_ties_to_the_question_says_nothing_of_a_chain(vectors: EdgeVectorStore) -> None:
    stores = memory_stores()
    tenant = await fill(stores, vectors, [Document("d.md", (("Fay",),))])
    result = await ask(stores, vectors, Reader(tenant), "something else")
    assert [(one.score, one.metadata["relationships"]) for one in result.passages] == [(1.0, [])]


class TrigramEmbedder(HashEmbedder):
    """Names spelt alike are near each other, as they are to a model."""

    async def embed(self, texts: Sequence[str], *, purpose: Literal["passage", "query"] = "passage") -> Embeddings:
        parts = [" ".join(text[at : at + 3].replace(" ", "_") for at in range(len(text))) for text in texts]
        return await super().embed(parts, purpose=purpose)


@pytest.mark.parametrize(
    ("asked", "written"), [("retry budgets", "retry budget"), ("Ana M. Ruiz", "Ana Ruiz"), ("Acme Inc", "Acme")]
)
@pytest.mark.parametrize("team", [None, "web"])
async def test_a_name_leads_to_what_is_said_under_nearly_the_same_name(
    vectors: EdgeVectorStore, asked: str, written: str, team: str | None
) -> None:
    stores, embedder = memory_stores(), TrigramEmbedder()
    documents = [
        Document("a.md", ((asked,),)),
        Document("b.md", (("Bob", written),)),
        Document("c.md", ((f"{written} Zeta", "Cat"),)),
        Document("d.md", ((written.upper(), "Dan"),), ("user:ana",), "sre"),
    ]
    tenant = await fill(stores, vectors, documents, embedder)
    options = RetrieveOptions(filter=parse_filter({"team": team}) if team else None, explain=True)
    retriever = LocalRetriever(stores.graph, vectors, embedder)
    result = await retriever.retrieve_with_usage(Reader(tenant, (EVERYONE,)), f"who knows {asked}?", options)
    assert [one.source.id for one in result.passages if one.source and one.source.id != "a.md"] == ["b.md", "c.md"]
    assert result.explanation is not None
    [link] = result.explanation["near_names"]  # type: ignore[misc]  # JSON
    assert (link["name"], link["near"]) == (normalise_name(asked), normalise_name(written))


async def test_a_walk_goes_over_a_link_to_the_passages_of_the_other_name(vectors: EdgeVectorStore) -> None:
    stores = memory_stores()
    documents = [Document("a.md", (("retry budgets",),)), Document("b.md", (("retry budget",),))]
    tenant = await fill(stores, vectors, documents)
    [there] = (
        await stores.graph.surroundings(tenant, names=["retry budget"], chunks=[], view=View(), hub_mentions=9)
    ).names
    shares: list[float] = []
    for linked in (False, True):
        walk = Walk(stores.graph, Reader(tenant), View())
        if linked:
            walk.link("retry budgets", "retry budget", 0.9)
        await walk.run({name_node("retry budgets"): 1.0})
        shares.append(walk.ranks.get(chunk_node(there.chunks[0]), 0.0))
    without, with_link = shares
    assert without == 0
    assert with_link > 0.05


async def test_a_nearly_equal_name_that_a_reader_may_not_see_ties_nothing(vectors: EdgeVectorStore) -> None:
    stores, embedder = memory_stores(), TrigramEmbedder()
    documents = [Document("a.md", (("retry budgets",),)), Document("b.md", (("retry budget", "Bob"),), ("user:ana",))]
    tenant = await fill(stores, vectors, documents, embedder)
    retriever = LocalRetriever(stores.graph, vectors, embedder)
    for reader, field in [(Reader(tenant, (EVERYONE,)), {}), (Reader(tenant), {"source_id": "a.md"})]:
        options = RetrieveOptions(filter=parse_filter(field) if field else None, explain=True)
        result = await retriever.retrieve_with_usage(reader, "retry budgets", options)
        assert result.explanation is not None
        assert result.explanation["near_names"] == []


async def test_as_many_passages_are_found_as_are_asked_for(vectors: EdgeVectorStore) -> None:
    stores = memory_stores()
    tenant = await fill(stores, vectors, [Document("a.md", (("Ada",),) * 130)])
    options = RetrieveOptions(top_k=120)
    retriever = LocalRetriever(stores.graph, vectors, HashEmbedder())
    assert len(await retriever.retrieve(Reader(tenant), "of whom?", options)) == 120


async def test_an_empty_store_has_no_answer(vectors: EdgeVectorStore) -> None:
    result = await ask(memory_stores(), vectors, Reader(next(tenants)), "Ada?")
    assert result.passages == ()


async def test_a_warm_up_asks_no_model_and_bears_an_empty_graph(vectors: EdgeVectorStore) -> None:
    embedder = HashEmbedder()
    await LocalRetriever(memory_stores().graph, vectors, embedder).warm_up(next(tenants))
    assert embedder.calls == 0
