"""Import: an export back into an empty tenant, without a model where its vectors come with it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import structlog

from knotwork.domain.catalogue import Evidence, TenantSettings
from knotwork.domain.checks import checked_metadata, checked_ref, checked_subjects
from knotwork.domain.export import (
    Record,
    Settings,
    chunk_of,
    settings_of,
    source_of,
    stored_chunk,
)
from knotwork.domain.export_reading import ExportReader
from knotwork.domain.inputs import embedding_key
from knotwork.domain.model import Chunk, EntityId, ParsedText, RelationshipId, Source, Subject, TenantId, Vector
from knotwork.errors import ExportDamaged, ImportDiffers, PlatformError, TenantNotEmpty, UnknownTenant
from knotwork.ports.catalogue import Catalogue, SourceWrite
from knotwork.ports.chunker import Chunker
from knotwork.ports.graph_store import GraphStore
from knotwork.ports.models import Embedder
from knotwork.ports.vector_store import Collection, Point, VectorStore, View
from knotwork.services.export import Exporter, Hold, Tell, tell_nobody
from knotwork.services.points import chunk_point, graph_point
from knotwork.services.restore_vectors import Load, SideFile
from knotwork.services.vector_sync import VectorSync

log = structlog.get_logger()

BATCH_CHUNKS = 500  # chunks of small sources written together; a source is never cut
BATCH_CHARS = 2_000_000
GRAPH_POINTS = 500

Id = TypeVar("Id", EntityId, RelationshipId)


@dataclass(frozen=True, slots=True)
class ImportResult:
    """What an import stored. `sha256` names the state; `embedded` counts texts that had to be embedded."""

    sources: int
    chunks: int
    entities: int
    relationships: int
    embedded: int
    sha256: str
    other_chunker: str | None = None  # the export was cut by it: the next run of a source cuts that source anew


@dataclass(slots=True)
class _Incoming:
    """A source on its way in."""

    source: Source
    parsed: ParsedText
    chunks: list[Chunk] = field(default_factory=list[Chunk])
    evidence: list[Evidence] = field(default_factory=list[Evidence])


class Importer:
    """Writes an export into the stores; what it derives is proved by exporting again."""

    def __init__(
        self,
        *,
        catalogue: Catalogue,
        graph: GraphStore,
        vectors: VectorStore,
        embedder: Embedder,
        chunker: Chunker,
        sync: VectorSync,
        exporter: Exporter,
        hold: Hold,
    ) -> None:
        self._catalogue, self._graph, self._vectors = catalogue, graph, vectors
        self._embedder, self._chunker, self._sync = embedder, chunker, sync
        self._exporter, self._hold = exporter, hold

    async def load(
        self,
        tenant: TenantId,
        lines: AsyncIterator[bytes],
        vectors: AsyncIterator[bytes] | None = None,
        *,
        tell: Tell = tell_nobody,
        total: int = 0,
    ) -> ImportResult:
        """Store all that the lines say; the tenant is made, with the settings of the export, or empty.

        One that fails or is cancelled leaves the tenant as it was; where the process is killed midway, delete the
        tenant and import again. Runs of the tenant wait.

        Args:
            tenant: Any name; that of the tenant exported is not in the lines.
            lines: What `Exporter.export` gave.
            vectors: What `Exporter.export_vectors` gave; of another embedder, or without, texts are embedded again.
            tell: Called with the sources stored so far.
            total: How many there are; 0: unknown.
        Raises:
            TenantNotEmpty: the tenant has sources already.
            ExportDamaged: the lines are no export, out of order, cut off, or do not match their hash.
            ImportDiffers: the stored state differs from the exported one.
        """
        async with self._hold(tenant):
            records, side = _Records(lines), SideFile(vectors, self._embedder)
            settings = settings_of(await records.header())
            await side.open()
            before = await self.require_empty(tenant)
            try:
                if before is None:
                    await self._clear(tenant)  # what a deletion or an import that was killed left
                await self._catalogue.put_tenant(tenant, settings.tenant)
                return await self._load(tenant, settings, records, Load(self._embedder, side), tell, total)
            except BaseException:
                await self._undo(tenant, before)
                raise

    async def require_empty(self, tenant: TenantId) -> TenantSettings | None:
        """The settings of a tenant that has no sources; None: there is no such tenant.

        Raises:
            TenantNotEmpty: it has sources.
        """
        try:
            settings = await self._catalogue.tenant(tenant)
        except UnknownTenant:
            return None
        if any((await self._catalogue.counts(tenant)).values()):
            raise TenantNotEmpty(tenant)
        return settings

    async def _load(
        self, tenant: TenantId, settings: Settings, records: _Records, load: Load, tell: Tell, total: int
    ) -> ImportResult:
        entities = relationships = 0
        async for batch in _batches(records):
            await self._write_sources(tenant, batch, load)
            tell("sources", load.sources, total)
        async for kind, ids in records.graph_ids(GRAPH_POINTS):
            if kind == "entity":
                entities += len(ids)
            else:
                relationships += len(ids)
            await self._write_points(tenant, kind, ids, load)
            tell("entities and relationships", entities + relationships, 0)
        tell("comparing with the export", 0, 0)
        await self._vectors.flush()
        await self._sync.follow(tenant)
        sha256 = await self._exporter.state(tenant)
        other_chunker = settings.chunker if settings.chunker != self._chunker.id else None
        if sha256 != records.sha256 and other_chunker is None:
            raise ImportDiffers(
                f"the tenant's state would be {sha256}, that of the file is {records.sha256}; nothing is kept of it: "
                "import with the release that wrote the file"
            )
        return ImportResult(load.sources, load.chunks, entities, relationships, load.embedded, sha256, other_chunker)

    async def _undo(self, tenant: TenantId, before: TenantSettings | None) -> None:
        """Take back what an import stored; why it failed is told whatever comes of this."""
        try:
            if before is None:
                await self._clear(tenant)
            else:
                while page := await self._catalogue.sources(tenant, view=View()):
                    refs = [source.ref for source in page]
                    states = await self._catalogue.states(tenant, refs)
                    chunks = [chunk.id for state in states.values() for chunk in state.chunks]
                    await self._graph.remove_chunks(tenant, chunks)
                    await self._catalogue.delete_sources(tenant, refs)
                await self._sync.follow(tenant)
                await self._catalogue.put_tenant(tenant, before)
                await self._vectors.drop_tenant(tenant)
                await self._vectors.flush()
        except PlatformError:
            log.exception("import_not_undone", tenant=tenant, todo="delete the tenant before it is imported again")

    async def _clear(self, tenant: TenantId) -> None:
        await self._vectors.drop_tenant(tenant)
        await self._vectors.flush()
        await self._catalogue.delete_tenant(tenant)

    async def _write_sources(self, tenant: TenantId, batch: Sequence[_Incoming], load: Load) -> None:
        """As a run does it: points first, then sources and chunks, then the evidence."""
        chunks = [(one.source, chunk) for one in batch for chunk in one.chunks]
        vectors = await load.vectors_of_chunks([chunk for _, chunk in chunks])
        points = [
            chunk_point(source, chunk, self._embedder.id, vector)
            for (source, chunk), vector in zip(chunks, vectors, strict=True)
        ]
        await self._vectors.upsert(tenant, Collection.CHUNKS, points)
        await self._vectors.flush()
        await self._catalogue.put_sources(
            tenant,
            [
                SourceWrite(
                    one.source,
                    one.parsed,
                    [stored_chunk(chunk, embedding_key(self._embedder.id, chunk)) for chunk in one.chunks],
                )
                for one in batch
            ],
        )
        await self._graph.put_evidence(tenant, [evidence for one in batch for evidence in one.evidence])
        load.sources += len(batch)
        load.chunks += len(chunks)

    async def _write_points(self, tenant: TenantId, kind: str, ids: Sequence[str], load: Load) -> None:
        """Points with the vectors that came along, so that following the graph has nothing left to embed."""
        if kind == "entity":
            named = [EntityId(id_) for id_ in ids]
            readers, _ = await self._graph.readers(tenant, named, [])
            await self._put_points(tenant, Collection.ENTITIES, readers, await load.vectors_of_entities(named))
        else:
            facts = [RelationshipId(id_) for id_ in ids]
            _, readers_of_facts = await self._graph.readers(tenant, [], facts)
            vectors = await load.vectors_of_relationships(facts)
            await self._put_points(tenant, Collection.RELATIONSHIPS, readers_of_facts, vectors)

    async def _put_points(
        self,
        tenant: TenantId,
        collection: Collection,
        readers: Mapping[Id, tuple[Subject, ...]],
        vectors: Mapping[Id, Vector],
    ) -> None:
        points: list[Point] = [graph_point(id_, vectors[id_], subjects) for id_, subjects in readers.items()]
        await self._vectors.upsert(tenant, collection, points)


class _Records:
    """The records of an export, in order, checked against their hash as they go by."""

    def __init__(self, lines: AsyncIterator[bytes]) -> None:
        self._lines = lines
        self._reader = ExportReader()
        self._next: Record | None = None

    @property
    def sha256(self) -> str | None:
        """The hash of all, once the end is read."""
        return self._reader.sha256

    async def header(self) -> Record:
        record = await self.peek()
        self.take()
        return record

    async def peek(self) -> Record:
        """The next record; past the last one, the end.

        Raises:
            ExportDamaged: there is none, or it is out of order, or the end does not match.
        """
        if self._next is None:
            line = await anext(self._lines, None)
            if line is None:
                self._reader.require_end()
                raise ExportDamaged("there is nothing after the last line")
            self._next = self._reader.read(line)[1]
        return self._next

    def take(self) -> None:
        self._next = None

    async def graph_ids(self, limit: int) -> AsyncIterator[tuple[str, list[str]]]:
        """Ids of entities, then of relationships, in pages of one kind."""
        kind, ids = "", list[str]()
        while (record := await self.peek())["kind"] in {"entity", "relationship"}:
            if ids and (record["kind"] != kind or len(ids) == limit):
                yield kind, ids
                ids = []
            kind = record["kind"]
            ids.append(record["id"])
            self.take()
        if ids:
            yield kind, ids


async def _batches(records: _Records) -> AsyncIterator[list[_Incoming]]:
    batch: list[_Incoming] = []
    while (record := await records.peek())["kind"] in {"source", "chunk"}:
        if record["kind"] == "source":
            if batch and _is_full(batch):
                yield batch
                batch = []
            batch.append(_incoming(record))
        else:
            if not batch:
                raise ExportDamaged(f"chunk {record['id']!r} stands before its source; export it again")
            chunk, evidence = chunk_of(record, batch[-1].parsed)
            if chunk.source != batch[-1].source.ref:
                raise ExportDamaged(f"chunk {chunk.id!r} stands below another source; export it again")
            batch[-1].chunks.append(chunk)
            if evidence is not None:
                batch[-1].evidence.append(evidence)
        records.take()
    if batch:
        yield batch


def _incoming(record: Record) -> _Incoming:
    source, parsed = source_of(record)
    # A file that somebody made must not store what a request could not.
    if checked_ref(source.ref.type, source.ref.id) != source.ref:
        raise ExportDamaged(f"{source.ref.id!r} cannot name a source; export it again")
    checked_subjects(source.auth_subjects)
    checked_metadata(source.metadata)
    return _Incoming(source, parsed)


def _is_full(batch: Sequence[_Incoming]) -> bool:
    chars = sum(one.source.size_chars for one in batch)
    return chars >= BATCH_CHARS or sum(len(one.chunks) for one in batch) >= BATCH_CHUNKS
