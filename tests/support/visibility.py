"""Documents with readers, written into any stores, and everything that one reader is told of them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from knotwork.adapters.memory.models import HashEmbedder
from knotwork.domain.catalogue import StoredChunk
from knotwork.domain.filters import Filter
from knotwork.domain.ids import chunk_id, content_hash
from knotwork.domain.model import (
    EVERYONE,
    Chunk,
    EntityId,
    Heading,
    Metadata,
    ParsedText,
    RelationshipId,
    Source,
    Subject,
    TenantId,
)
from knotwork.domain.paths import Direction, Ties
from knotwork.domain.retrieval import Mode, Reader, RetrieveOptions
from knotwork.errors import PlatformError
from knotwork.ports.catalogue import SourceWrite
from knotwork.ports.graph_store import GraphStore
from knotwork.ports.graph_walk import GraphWalk
from knotwork.ports.outlines import Outlines
from knotwork.ports.vector_store import Collection, VectorStore, View
from knotwork.services.auto import AutoRetriever
from knotwork.services.exploration import Exploration
from knotwork.services.local import LocalRetriever
from knotwork.services.naming import Naming
from knotwork.services.navigate import LexicalChooser, NavigateRetriever
from knotwork.services.paths import PathFinder
from knotwork.services.paths_retriever import PathsRetriever
from knotwork.services.points import chunk_point
from knotwork.services.refine import Refinement
from knotwork.services.retrieve import HybridRetriever, KeywordRetriever, Retrieval, SemanticRetriever
from knotwork.services.vector_sync import VectorSync
from support.stores import Stores, doc, says

ALL = 1_000_000
_tenants = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk to be: what it names, (name, description), and the facts in it, (from, type, to, description)."""

    text: str
    names: tuple[tuple[str, str], ...] = ()
    facts: tuple[tuple[str, str, str, str], ...] = ()
    heading: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """A source to be; `before` are the readers it had at first, and whoever is not there at all is `gone` again."""

    name: str
    passages: tuple[Passage, ...]
    subjects: tuple[Subject, ...] = (EVERYONE,)
    title: str = ""
    metadata: Metadata = field(default_factory=dict[str, str])
    before: tuple[Subject, ...] | None = None
    gone: bool = False

    def source(self) -> Source:
        return Source(doc(self.name), self.title, content_hash(self.name), self.subjects, self.metadata)

    def chunks(self) -> list[Chunk]:
        return [
            Chunk(
                chunk_id(doc(self.name), f"{place} {one.text}", 0),
                doc(self.name),
                place,
                one.text,
                place * 100,
                place * 100 + len(one.text),
                content_hash(one.text),
                self.title,
                (one.heading,) if one.heading else (),
            )
            for place, one in enumerate(self.passages)
        ]


class MemoryGraphWalk:
    """GraphWalk over any GraphStore, by reading everything: what others are compared with."""

    def __init__(self, graph: GraphStore) -> None:
        self._graph = graph

    async def ties(
        self,
        tenant: TenantId,
        entities: Sequence[EntityId],
        *,
        view: View,
        cap: int,
        direction: Direction = Direction.EITHER,
        types: Sequence[str] | None = None,
    ) -> Mapping[EntityId, Ties]:
        found: dict[EntityId, Ties] = {}
        for entity in entities:
            ids = await self._ids(tenant, entity, view, direction, types)
            is_hub = len(ids) > cap
            found[entity] = Ties(min(len(ids), cap + 1), () if is_hub else tuple(ids), is_hub)
        return found

    async def first_ties(
        self,
        tenant: TenantId,
        entity: EntityId,
        *,
        view: View,
        limit: int,
        direction: Direction = Direction.EITHER,
        types: Sequence[str] | None = None,
    ) -> list[RelationshipId]:
        return (await self._ids(tenant, entity, view, direction, types))[:limit]

    async def ties_between(
        self, tenant: TenantId, first: EntityId, second: EntityId, *, view: View, limit: int
    ) -> list[RelationshipId]:
        others = set(await self._ids(tenant, second, view, Direction.EITHER, None))
        return [id_ for id_ in await self._ids(tenant, first, view, Direction.EITHER, None) if id_ in others][:limit]

    async def types_at(self, tenant: TenantId, entity: EntityId, *, view: View, limit: int) -> list[str]:
        facts = await self._graph.relationships_of(tenant, [entity], view=view, limit=ALL, chunk_limit=0)
        return sorted({fact.type for fact in facts})[:limit]

    async def _ids(
        self, tenant: TenantId, entity: EntityId, view: View, direction: Direction, types: Sequence[str] | None
    ) -> list[RelationshipId]:
        facts = await self._graph.relationships_of(tenant, [entity], view=view, limit=ALL, chunk_limit=0)
        return sorted(
            fact.id
            for fact in facts
            if (types is None or fact.type in types)
            and (direction is not Direction.OUT or fact.from_id == entity)
            and (direction is not Direction.IN or fact.to_id == entity)
        )


@dataclass(frozen=True, slots=True)
class Library:
    """Stores to be filled and asked."""

    stores: Stores
    walk: GraphWalk
    outlines: Outlines
    vectors: VectorStore

    async def filled(self, documents: Sequence[Document]) -> TenantId:
        """A tenant of its own with these documents, as their histories left them."""
        tenant = TenantId(f"seen-{next(_tenants)}")
        for document in documents:
            first = document if document.before is None else replace(document, subjects=document.before)
            await self.write(tenant, first)
            ids = [chunk.id for chunk in document.chunks()]
            raw = [says(id_, *one.names, facts=one.facts) for id_, one in zip(ids, document.passages, strict=True)]
            await self.stores.graph.put_evidence(tenant, raw)
            if document.before is not None:
                await self.write(tenant, document)
                await self.stores.graph.move_chunks(tenant, ids, document.subjects)
        for document in documents:
            if document.gone:
                ids = [chunk.id for chunk in document.chunks()]
                await self.vectors.delete(tenant, Collection.CHUNKS, ids)
                await self.stores.graph.remove_chunks(tenant, ids)
                await self.stores.catalogue.delete_sources(tenant, [doc(document.name)])
        await VectorSync(self.stores.graph, self.vectors, HashEmbedder()).follow(tenant)
        return tenant

    async def write(self, tenant: TenantId, document: Document) -> None:
        """Write a document's points and rows, but for what it says of the graph."""
        source, chunks, embedder = document.source(), document.chunks(), HashEmbedder()
        headings = [Heading(chunk.start, 1, chunk.headings[0]) for chunk in chunks if chunk.headings]
        parsed = ParsedText(" ".join(one.text for one in document.passages), document.title, tuple(headings))
        stored = [
            StoredChunk(
                one.id,
                one.index,
                one.start,
                one.end,
                one.content_hash,
                one.title,
                one.headings,
                embedding_key=one.content_hash,
            )
            for one in chunks
        ]
        vectors = (await embedder.embed([one.text for one in chunks])).vectors
        points = [chunk_point(source, one, embedder.id, vector) for one, vector in zip(chunks, vectors, strict=True)]
        await self.vectors.upsert(tenant, Collection.CHUNKS, points)
        await self.stores.catalogue.put_sources(tenant, [SourceWrite(source, parsed, stored)])

    def retrieval(self) -> Retrieval:
        """Every mode but the one that needs summaries."""
        embedder, naming = HashEmbedder(), Naming(self.stores.graph)
        modes = {
            Mode.SEMANTIC: SemanticRetriever(self.vectors, embedder),
            Mode.KEYWORD: KeywordRetriever(self.vectors),
            Mode.HYBRID: HybridRetriever(self.vectors, embedder),
            Mode.LOCAL: LocalRetriever(self.stores.graph, self.vectors, embedder),
            Mode.PATHS: PathsRetriever(naming, PathFinder(self.stores.graph, self.walk), self.vectors),
            Mode.NAVIGATE: NavigateRetriever(self.outlines, self.vectors, LexicalChooser(), documents=2),
        }
        return Retrieval({**modes, Mode.AUTO: AutoRetriever(modes, embedder)}, refinement=Refinement(self.vectors))

    async def told(self, reader: Reader, questions: Sequence[str], filter_: Filter | None = None) -> dict[str, object]:
        """Answers, explanations and refusals of every mode."""
        found: dict[str, object] = {}
        retrieval = self.retrieval()
        for question, mode, few in itertools.product(questions, retrieval.modes, (False, True)):
            options = RetrieveOptions(
                top_k=2 if few else 50, filter=filter_, explain=True, diversity=0.5 if few else 0.0
            )
            try:
                answer: object = await retrieval.query(reader, question, mode, options)
            except PlatformError as error:
                answer = (error.code, str(error), vars(error))
            found[f"{mode.value}, {'few' if few else 'all'}: {question}"] = answer
        return found

    async def explored(self, reader: Reader) -> dict[str, object]:
        """Every entity with what is around it, in pages."""
        exploration, found = Exploration(self.stores.graph), dict[str, object]()
        after: EntityId | None = None
        while page := await exploration.search(reader, "", after=after, limit=2):
            found[f"after {after}"], after = page, page[-1].id
            for entity in page:
                found[f"entity {entity.id}"] = await exploration.entity(reader, entity.id)
                found[f"around {entity.id}"] = await exploration.neighbourhood(reader, entity.id, limit=3)
        found["sources"] = await self.stores.catalogue.sources(reader.tenant, view=View(reader.subjects))
        return found
