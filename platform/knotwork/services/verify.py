"""Verify: the two stores are compared with each other and with the stored texts, id by id and hash by hash."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import TypeVar, cast

from knotwork.domain.catalogue import SourceState
from knotwork.domain.damage import Damage, DamageKind
from knotwork.domain.ids import content_hash, source_public_id, split_chunk_id
from knotwork.domain.inputs import embedding_key, text_hash
from knotwork.domain.model import Chunk, ChunkId, EntityId, ParsedText, RelationshipId, SourceRef, Subject, TenantId
from knotwork.domain.search_text import Needle
from knotwork.errors import PlatformError
from knotwork.ports.audit import GraphAudit
from knotwork.ports.catalogue import Catalogue
from knotwork.ports.graph_store import GraphStore
from knotwork.ports.models import Embedder
from knotwork.ports.vector_store import Collection, StoredPoint, VectorStore, View
from knotwork.services.export import Hold, Tell, source_states, tell_nobody
from knotwork.services.points import chunk_payload
from knotwork.services.vector_sync import VectorSync

PAGE = 1_000
EXAMPLES = 1_000  # damages named in a report; all are counted

Id = TypeVar("Id", EntityId, RelationshipId)


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """How many damages of each kind there are, and the first of them."""

    counts: Mapping[DamageKind, int]
    examples: tuple[Damage, ...]

    @property
    def is_clean(self) -> bool:
        return not self.counts


@dataclass(frozen=True, slots=True)
class Finding:
    """Where a text was found that should be gone: a stored thing and the field of it."""

    where: str
    field: str


@dataclass(frozen=True, slots=True)
class SearchReport:
    """In how many places a text was found that should be gone, and the first of them."""

    found: int
    places: tuple[Finding, ...]


class Verifier:
    """Compares the stores of one tenant; memory is bounded by a page, and by the largest source."""

    def __init__(
        self,
        *,
        catalogue: Catalogue,
        graph: GraphStore,
        audit: GraphAudit,
        vectors: VectorStore,
        embedder: Embedder,
        sync: VectorSync,
        hold: Hold,
    ) -> None:
        self._catalogue, self._graph, self._audit, self._vectors = catalogue, graph, audit, vectors
        self._embedder, self._sync, self._hold = embedder, sync, hold

    async def verify(self, tenant: TenantId, tell: Tell = tell_nobody) -> VerifyReport:
        """Everything that does not agree; runs of the tenant wait meanwhile.

        Raises:
            UnknownTenant: there is no such tenant.
        """
        counts: Counter[DamageKind] = Counter()
        examples: list[Damage] = []
        async with aclosing(self.damages(tenant, tell)) as damages:
            async for damage in damages:
                counts[damage.kind] += 1
                if len(examples) < EXAMPLES:
                    examples.append(damage)
        return VerifyReport(dict(sorted(counts.items())), tuple(examples))

    async def damages(self, tenant: TenantId, tell: Tell = tell_nobody) -> AsyncGenerator[Damage]:
        """The damages one by one; runs of the tenant wait until the last one is taken.

        Raises:
            UnknownTenant: there is no such tenant.
        """
        await self._catalogue.tenant(tenant)
        async with self._hold(tenant):
            await self._sync.follow(tenant)  # what is noted and not yet followed is late, not damaged
            counts = await self._catalogue.counts(tenant)
            tell("the graph against its evidence", 0, 0)
            async for damage in self._audit.damages(tenant):
                yield damage
            incomplete: set[SourceRef] = set()
            looked_at = 0
            async for states in source_states(self._catalogue, tenant):
                for state in states:
                    async for damage in self._source_damages(tenant, state):
                        if damage.kind is DamageKind.MISSING_CHUNK:
                            incomplete.add(state.source.ref)
                        yield damage
                looked_at += len(states)
                tell("sources and their chunks", looked_at, counts["sources"])
            things = counts["entities"] + counts["relationships"]
            async for damage in self._graph_points(tenant, lambda done: tell("the graph's points", done, things)):
                yield damage
            tell("points that nothing stands behind", 0, 0)
            async for damage in self._extra_points(tenant, incomplete):
                yield damage

    async def search(self, tenant: TenantId, text: str, tell: Tell = tell_nobody) -> SearchReport:
        """As `gone`, as a report.

        Raises:
            InvalidInput, UnknownTenant: as `gone`.
        """
        found, places = 0, list[Finding]()
        tell("searching every property", 0, 0)
        async with aclosing(self.gone(tenant, text)) as findings:
            async for finding in findings:
                found += 1
                if len(places) < EXAMPLES:
                    places.append(finding)
        return SearchReport(found, tuple(places))

    async def gone(self, tenant: TenantId, text: str) -> AsyncGenerator[Finding]:
        """Where the tenant's rows in either store still hold a text, in any property, compressed texts included.

        Raises:
            InvalidInput: the text is empty.
            UnknownTenant: there is no such tenant.
        """
        needle = Needle(text)
        await self._catalogue.tenant(tenant)
        async for stored in self._audit.texts(tenant):
            if needle.is_in(stored.text, field=stored.field.rpartition(" ")[2]):
                yield Finding(stored.where, stored.field)
        for collection in Collection:
            async for point in self._points(tenant, collection):
                for field, value in [("id", point.id), *point.payload.items()]:
                    if any(needle.is_in(one, field=field) for one in _strings(value)):
                        yield Finding(f"Qdrant {collection.value} {point.id}", field)

    async def _source_damages(self, tenant: TenantId, state: SourceState) -> AsyncIterator[Damage]:
        ref = state.source.ref
        parsed = await stored_text(self._catalogue, tenant, ref)
        if parsed is None or text_hash(parsed) != state.source.content_hash:
            detail = "its text is missing or damaged" if parsed is None else "its text is not the one its hash names"
            yield Damage(DamageKind.MISSING_TEXT, "source", source_public_id(ref), detail, ref)
            return
        whole = True
        for damage in span_damages(state, parsed, self._embedder.id):
            whole = whole and damage.kind is not DamageKind.SPAN_MISMATCH
            yield damage
        if whole:
            for start in range(0, len(state.chunks), PAGE):
                chunks = [
                    chunk_from(state, index, parsed) for index in range(start, min(start + PAGE, len(state.chunks)))
                ]
                async for damage in self._point_damages(tenant, state, chunks):
                    yield damage

    async def _point_damages(
        self, tenant: TenantId, state: SourceState, chunks: Sequence[Chunk]
    ) -> AsyncIterator[Damage]:
        points = await self._fetched(tenant, Collection.CHUNKS, [chunk.id for chunk in chunks])
        for chunk in chunks:
            expected = chunk_payload(state.source, chunk, self._embedder.id)
            if damage := _point_damage("chunk", chunk.id, points.get(chunk.id), expected, state.source.ref):
                yield damage

    async def _graph_points(self, tenant: TenantId, tell: Callable[[int], None]) -> AsyncIterator[Damage]:
        """Points of entities and relationships that are missing or say who else may read them."""
        done = 0
        async for part in self._graph.export_graph(tenant):
            entities, relationships = [one.id for one in part.entities], [one.id for one in part.relationships]
            readers, fact_readers = await self._graph.readers(tenant, entities, relationships)
            points = await self._fetched(tenant, Collection.ENTITIES, entities)
            for damage in _readers_damages("entity", entities, readers, points):
                yield damage
            points = await self._fetched(tenant, Collection.RELATIONSHIPS, relationships)
            for damage in _readers_damages("relationship", relationships, fact_readers, points):
                yield damage
            done += len(entities) + len(relationships)
            tell(done)

    async def _extra_points(self, tenant: TenantId, incomplete: set[SourceRef]) -> AsyncIterator[Damage]:
        """Points that nothing stands behind; those of a source that lacks chunks may be of these."""
        for collection in (Collection.CHUNKS, Collection.ENTITIES, Collection.RELATIONSHIPS):
            for id_ in await self._vectors.strays(tenant, collection):
                yield Damage(DamageKind.FOREIGN_TENANT, "point", id_, f"in {collection.value}, under another's key")
            after: str | None = None
            while True:
                page, after = await self._vectors.scroll(tenant, collection, view=View(), after=after, limit=PAGE)
                known = await self._known(tenant, collection, [point.id for point in page])
                for point in page:
                    ref = SourceRef(str(point.payload.get("source_type")), str(point.payload.get("source_id")))
                    if point.id not in known and ref not in incomplete:
                        yield Damage(DamageKind.EXTRA_POINT, _OF[collection], point.id, "nothing stands behind it")
                if after is None:
                    break

    async def _known(self, tenant: TenantId, collection: Collection, ids: Sequence[str]) -> set[str]:
        if collection is Collection.CHUNKS:
            return {*await self._catalogue.held_chunks(tenant, [ChunkId(id_) for id_ in ids])}
        if collection is Collection.ENTITIES:
            return {*(await self._graph.readers(tenant, [EntityId(id_) for id_ in ids], []))[0]}
        return {*(await self._graph.readers(tenant, [], [RelationshipId(id_) for id_ in ids]))[1]}

    async def _fetched(self, tenant: TenantId, collection: Collection, ids: Sequence[str]) -> dict[str, StoredPoint]:
        found = await self._vectors.fetch(tenant, collection, ids, view=View())
        return {point.id: point for point in found}

    async def _points(self, tenant: TenantId, collection: Collection) -> AsyncIterator[StoredPoint]:
        after: str | None = None
        while True:
            page, after = await self._vectors.scroll(tenant, collection, view=View(), after=after, limit=PAGE)
            for point in page:
                yield point
            if after is None:
                return


_OF = {Collection.CHUNKS: "chunk", Collection.ENTITIES: "entity", Collection.RELATIONSHIPS: "relationship"}


async def stored_text(catalogue: Catalogue, tenant: TenantId, ref: SourceRef) -> ParsedText | None:
    """A source's text; None when it is missing or damaged."""
    try:
        return await catalogue.text(tenant, ref)
    except PlatformError as error:
        if error.retryable:
            raise
        return None


def chunk_from(state: SourceState, at: int, parsed: ParsedText) -> Chunk:
    """A stored chunk of a source, with its text."""
    stored = state.chunks[at]
    return Chunk(
        id=stored.id,
        source=state.source.ref,
        index=stored.index,
        text=parsed.text[stored.start : stored.end],
        start=stored.start,
        end=stored.end,
        content_hash=stored.content_hash,
        title=stored.title,
        headings=stored.headings,
        page=stored.page,
    )


def span_damages(state: SourceState, parsed: ParsedText, embedder_id: str) -> Iterator[Damage]:
    """Chunks that are not the span they claim, and text that no chunk holds."""
    ref = state.source.ref
    covered, whole, placed = 0, True, True
    for at, stored in enumerate(state.chunks):
        chunk = chunk_from(state, at, parsed)
        digests = {content_hash(chunk.text), stored.content_hash, split_chunk_id(stored.id)[1]}
        if len(digests) > 1:
            detail = f"characters {stored.start} to {stored.end} are not the text that its id names"
            yield Damage(DamageKind.SPAN_MISMATCH, "chunk", stored.id, detail, ref)
            placed = False
        elif stored.embedding_key != embedding_key(embedder_id, chunk):
            detail = "its embedding key is not that of its text, title and headings"
            yield Damage(DamageKind.SPAN_MISMATCH, "chunk", stored.id, detail, ref)
        # Chunks leave out nothing but white space: domain/chunking.py.
        whole = whole and stored.index == at and not parsed.text[covered : stored.start].strip()
        covered = max(covered, stored.end)
    if placed and (not whole or parsed.text[covered:].strip()):
        detail = f"its {len(state.chunks)} chunks leave out some of its text"
        yield Damage(DamageKind.MISSING_CHUNK, "source", source_public_id(ref), detail, ref)


def _readers_damages(
    of: str, ids: Sequence[Id], readers: Mapping[Id, tuple[Subject, ...]], points: Mapping[str, StoredPoint]
) -> Iterator[Damage]:
    for id_ in ids:
        if id_ in readers and (damage := _point_damage(of, id_, points.get(id_), {"subjects": list(readers[id_])})):
            yield damage


def _point_damage(
    of: str, id_: str, point: StoredPoint | None, expected: Mapping[str, object], source: SourceRef | None = None
) -> Damage | None:
    if point is None:
        return Damage(DamageKind.MISSING_POINT, of, id_, "not in the vector store", source)
    names = sorted(expected.keys() | point.payload.keys())
    wrong = [name for name in names if _canonical(expected.get(name)) != _canonical(point.payload.get(name))]
    return Damage(DamageKind.STALE_PAYLOAD, of, id_, ", ".join(wrong), source) if wrong else None


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def _strings(value: object) -> Iterator[str]:
    """The strings and numbers within a value of a payload."""
    if isinstance(value, Mapping):
        for name, one in cast("Mapping[str, object]", value).items():
            yield name
            yield from _strings(one)
    elif isinstance(value, list | tuple):
        for one in cast("Sequence[object]", value):
            yield from _strings(one)
    elif value is not None:
        yield str(value)
