"""The services over the real stores, with models that count their calls, for tests of what indexing does."""

from __future__ import annotations

import itertools
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

from knotwork.adapters.memory.models import HashEmbedder, ReplayExtractor
from knotwork.adapters.models.pooled_chunker import cut
from knotwork.adapters.neo4j.catalogue import Neo4jCatalogue
from knotwork.adapters.neo4j.embedded import Neo4jAddress
from knotwork.adapters.neo4j.graph_store import Neo4jGraphStore
from knotwork.adapters.neo4j.ledger import Neo4jLedger
from knotwork.adapters.neo4j.session import Neo4jSession, open_driver
from knotwork.adapters.qdrant.edge_store import EdgeVectorStore
from knotwork.domain.catalogue import IndexResult, Run, RunState, TenantSettings
from knotwork.domain.merge import merge_contributions
from knotwork.domain.model import (
    EVERYONE,
    Chunk,
    Contribution,
    Metadata,
    ParsedText,
    Source,
    SourceRef,
    Subject,
    TenantId,
)
from knotwork.domain.retrieval import Mode, Reader, RetrieveOptions
from knotwork.ports.inbox import Inbox
from knotwork.ports.models import Extractor
from knotwork.ports.vector_store import Collection, View
from knotwork.services.extract import GraphBuilder
from knotwork.services.index import Indexer
from knotwork.services.intake import Intake
from knotwork.services.local import LocalRetriever
from knotwork.services.model_in_use import EmbedderInUse
from knotwork.services.retrieve import HybridRetriever, KeywordRetriever, Retrieval, SemanticRetriever
from knotwork.services.upkeep import Upkeep
from knotwork.services.vector_sync import VectorSync

Port = TypeVar("Port")
CHUNK_TOKENS = 32
MODELS = (1, 2)  # versions of HashEmbedder that stores may hold vectors of
_names = itertools.count(1)


class Calls:
    """Which methods of the ports were awaited; `names` is cleared between acts of a test."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def recording(self, port: Port, label: str) -> Port:
        """The port, with every awaited method noted as `label.method`."""
        return cast("Port", _Recording(port, label, self.names))


class _Recording:
    def __init__(self, port: object, label: str, names: list[str]) -> None:
        self._port, self._label, self._names = port, label, names

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._port, name)
        if not callable(value):
            return value

        def call(*args: object, **kwargs: object) -> object:
            self._names.append(f"{self._label}.{name}")
            return cast("Callable[..., Awaitable[object]]", value)(*args, **kwargs)

        return call


class TextChunker:
    """Cuts in this process, into chunks small enough that a few sentences make several."""

    id = f"test-chunker/{CHUNK_TOKENS}"

    async def chunk(self, parsed: ParsedText, source: SourceRef) -> list[Chunk]:
        return cut(parsed, source, CHUNK_TOKENS, 0)


class Switchable:
    """The extractor of the moment; a test changes it between runs."""

    def __init__(self, extractor: Extractor | None) -> None:
        self.extractor = extractor

    @property
    def configured(self) -> bool:
        return self.extractor is not None

    def for_tenant(self, settings: TenantSettings) -> Extractor:
        del settings
        assert self.extractor is not None
        return self.extractor


@dataclass(frozen=True, slots=True)
class Stack:
    """One tenant of the real stores, and the services over them."""

    tenant: TenantId
    catalogue: Neo4jCatalogue
    ledger: Neo4jLedger
    graph: Neo4jGraphStore
    vectors: EdgeVectorStore
    embedder: HashEmbedder
    extractors: Switchable
    graph_builder: GraphBuilder
    indexer: Indexer
    intake: Intake
    upkeep: Upkeep
    retrieval: Retrieval
    sync: VectorSync
    calls: Calls

    async def put(
        self,
        id_: str,
        text: str,
        *,
        title: str = "",
        subjects: Sequence[Subject] = (EVERYONE,),
        metadata: Metadata | None = None,
        graph: bool | None = None,
    ) -> IndexResult:
        """Index a source and wait for it."""
        source = Source(SourceRef("document", id_), title, "", tuple(subjects), metadata or {}, graph=graph)
        run = await self.intake.put(self.tenant, source, ParsedText(text, title))
        return await self.finished(run)

    async def finished(self, run: Run) -> IndexResult:
        over = await self.intake.wait(self.tenant, run.id)
        assert over.state is RunState.DONE, over
        assert over.result is not None
        return over.result

    async def delete(self, id_: str) -> IndexResult:
        return await self.finished(await self.intake.delete(self.tenant, SourceRef("document", id_)))

    async def exported(self) -> Contribution:
        """The whole merged graph of the tenant."""
        return merge_contributions([part async for part in self.graph.export_graph(self.tenant)])

    async def points(self, collection: Collection) -> dict[str, Mapping[str, object]]:
        """Every point of a collection, by id."""
        found, after = dict[str, Mapping[str, object]](), None
        while True:
            page, after = await self.vectors.scroll(self.tenant, collection, view=View(), after=after, limit=1000)
            found |= {point.id: point.payload for point in page}
            if after is None:
                return found

    async def found(self, query: str, mode: Mode, *, subjects: tuple[Subject, ...] | None = None) -> list[str]:
        """Ids of the sources that a query finds, best first."""
        result = await self.retrieval.query(Reader(self.tenant, subjects), query, mode, RetrieveOptions(top_k=20))
        return [passage.source.id for passage in result.passages if passage.source]


@dataclass(frozen=True, slots=True)
class Stores:
    """The real stores of one test session; tests part their data by tenant.

    `model` is the version of `HashEmbedder` whose vectors they hold.
    """

    session: Neo4jSession
    vectors: EdgeVectorStore
    model: int = 1


@asynccontextmanager
async def open_stores(address: Neo4jAddress, folder: Path, *, model: int = 1) -> AsyncGenerator[Stores]:
    """The shared Neo4j with its schema, and a vector store: a new one is for `HashEmbedder(version=model)`."""
    driver = open_driver(address.bolt_uri, address.user, address.password)
    session = Neo4jSession(driver)
    await session.apply_schema()
    vectors = EdgeVectorStore(folder / "qdrant")
    await vectors.open()
    for known in MODELS:
        if await vectors.holds(model=HashEmbedder(version=known).id, dimension=HashEmbedder().dimension):
            model = known
    await vectors.prepare(model=HashEmbedder(version=model).id, dimension=HashEmbedder().dimension)
    try:
        yield Stores(session, vectors, model)
    finally:
        await vectors.close()
        await driver.close()


def build_stack(
    stores: Stores,
    tenant: TenantId,
    extractor: Extractor | None,
    *,
    wrap: Callable[[Any], Any] = lambda port: port,
    inbox: Inbox | None = None,
    extractors: Switchable | None = None,
    concurrency: int = 1,
    in_use: EmbedderInUse | None = None,
) -> Stack:
    """The services of one tenant; `wrap` is put around every port that they write through.

    `extractors` is there for tests in which not every tenant has `extractor`, `in_use` for those that change the
    embedding model.
    """
    hashing, calls, session = HashEmbedder(), Calls(), stores.session
    embedder = in_use or hashing
    catalogue, ledger, graph = Neo4jCatalogue(session), Neo4jLedger(session), Neo4jGraphStore(session)
    noted_catalogue = calls.recording(wrap(catalogue), "catalogue")
    noted_graph = calls.recording(wrap(graph), "graph")
    noted_vectors = calls.recording(wrap(stores.vectors), "vectors")
    noted_ledger = calls.recording(wrap(ledger), "ledger")
    sync = VectorSync(noted_graph, noted_vectors, embedder)
    extractors = extractors or Switchable(extractor)
    chunker = TextChunker()
    graph_builder = GraphBuilder(
        catalogue=noted_catalogue, graph=noted_graph, extractors=extractors, sync=sync, concurrency=concurrency
    )
    indexer = Indexer(
        catalogue=noted_catalogue,
        ledger=noted_ledger,
        graph=noted_graph,
        vectors=noted_vectors,
        embedder=embedder,
        chunker=chunker,
        graph_builder=graph_builder,
        sync=sync,
    )
    intake = Intake(catalogue=noted_catalogue, ledger=ledger, indexer=indexer, inbox=inbox)
    retrieval = Retrieval(
        {
            Mode.SEMANTIC: SemanticRetriever(stores.vectors, embedder),
            Mode.KEYWORD: KeywordRetriever(stores.vectors),
            Mode.HYBRID: HybridRetriever(stores.vectors, embedder),
            Mode.LOCAL: LocalRetriever(graph, stores.vectors, embedder),
        },
        steady=in_use.steady if in_use else nullcontext,
    )
    return Stack(
        tenant,
        catalogue,
        ledger,
        graph,
        stores.vectors,
        hashing,
        extractors,
        graph_builder,
        indexer,
        intake,
        Upkeep(catalogue=catalogue, intake=intake, chunker=chunker, embedder=embedder, graph_builder=graph_builder),
        retrieval,
        sync,
        calls,
    )


@asynccontextmanager
async def open_stack(stores: Stores, extractor: Extractor | None) -> AsyncGenerator[Stack]:
    """A fresh tenant, and services of its own."""
    stack = build_stack(stores, TenantId(f"tenant-{next(_names)}"), extractor)
    await stack.catalogue.put_tenant(stack.tenant, TenantSettings())
    await stack.intake.start()
    try:
        yield stack
    finally:
        await stack.intake.stop()
        await stack.catalogue.delete_tenant(stack.tenant)
        await stack.vectors.drop_tenant(stack.tenant)


class SentenceExtractor(ReplayExtractor):
    """Reads `A verb B.` sentences as relationships of capitalised words; every capitalised word is an entity."""

    def __init__(self, *, version: int = 1, calls_model: bool = False) -> None:
        super().__init__(version=version, calls_model=calls_model)

    async def extract(self, chunk: Any) -> Any:
        self.answers.setdefault(chunk.text, _read(chunk.text))
        return await super().extract(chunk)


def _read(text: str) -> dict[str, list[dict[str, str]]]:
    entities: list[dict[str, str]] = []
    relationships: list[dict[str, str]] = []
    for sentence in text.split("."):
        words = sentence.split()
        names = [word for word in words if word[:1].isupper()]
        entities += [{"name": name, "type": "thing", "description": sentence.strip()} for name in names]
        if len(words) == 3 and len(names) == 2:
            relationships.append({"from": words[0], "to": words[2], "type": words[1], "description": sentence.strip()})
    return {"entities": entities, "relationships": relationships}
