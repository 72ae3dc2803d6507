"""Import: an export back into an empty tenant, without a model where its vectors come with it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from knotwork.domain.catalogue import Evidence
from knotwork.domain.export import (
    VECTOR_FORMAT,
    VERSION,
    Place,
    Record,
    StateHash,
    chunk_of,
    from_line,
    place,
    settings_of,
    source_of,
    stored_chunk,
)
from knotwork.domain.inputs import embedding_key, embedding_text, entity_text, relationship_text
from knotwork.domain.model import Chunk, EntityId, ParsedText, RelationshipId, Source, Subject, TenantId, Vector
from knotwork.errors import ExportDamaged, ImportDiffers, InvalidInput, UnknownTenant
from knotwork.ports.catalogue import Catalogue, SourceWrite
from knotwork.ports.chunker import Chunker
from knotwork.ports.graph_store import GraphStore
from knotwork.ports.models import Embedder
from knotwork.ports.vector_store import Collection, Point, VectorStore
from knotwork.services.export import Exporter, Hold, unpacked
from knotwork.services.points import chunk_point, graph_point
from knotwork.services.vector_sync import VectorSync

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
        self, tenant: TenantId, lines: AsyncIterator[bytes], vectors: AsyncIterator[bytes] | None = None
    ) -> ImportResult:
        """Store all that the lines say; the tenant is made, with the settings of the export, or empty.

        One that fails midway leaves the tenant half filled: delete it and import again. Runs of the tenant wait.

        Args:
            tenant: Any name; that of the tenant exported is not in the lines.
            lines: What `Exporter.export` gave.
            vectors: What `Exporter.export_vectors` gave; of another embedder, or without, texts are embedded again.
        Raises:
            InvalidInput: the tenant has sources already.
            ExportDamaged: the lines are no export, out of order, cut off, or do not match their hash.
            ImportDiffers: the stored state differs from the exported one.
        """
        async with self._hold(tenant):
            return await self._load(tenant, lines, vectors)

    async def _load(
        self, tenant: TenantId, lines: AsyncIterator[bytes], vectors: AsyncIterator[bytes] | None
    ) -> ImportResult:
        records = _Records(lines)
        settings = settings_of(await records.header())
        await self._require_empty(tenant)
        await self._catalogue.put_tenant(tenant, settings.tenant)
        side = _SideFile(vectors, self._embedder)
        await side.open()
        load = _Load(self._embedder, side)
        entities = relationships = 0
        async for batch in _batches(records):
            await self._write_sources(tenant, batch, load)
        async for kind, ids in records.graph_ids(GRAPH_POINTS):
            if kind == "entity":
                entities += len(ids)
            else:
                relationships += len(ids)
            await self._write_points(tenant, kind, ids, load)
        await self._vectors.flush()
        await self._sync.follow(tenant)
        sha256 = await self._exporter.state(tenant)
        other_chunker = settings.chunker if settings.chunker != self._chunker.id else None
        if sha256 != records.sha256 and other_chunker is None:
            raise ImportDiffers(
                f"the tenant's state is {sha256}, that of the file {records.sha256}; delete the tenant, "
                "and import with the release that wrote the file"
            )
        return ImportResult(load.sources, load.chunks, entities, relationships, load.embedded, sha256, other_chunker)

    async def _require_empty(self, tenant: TenantId) -> None:
        try:
            await self._catalogue.tenant(tenant)
        except UnknownTenant:
            return
        if any((await self._catalogue.counts(tenant)).values()):
            raise InvalidInput(f"tenant {tenant!r} has sources already; import into a new one, or delete it first")

    async def _write_sources(self, tenant: TenantId, batch: Sequence[_Incoming], load: _Load) -> None:
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

    async def _write_points(self, tenant: TenantId, kind: str, ids: Sequence[str], load: _Load) -> None:
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
        self._state = StateHash()
        self._next: Record | None = None
        self._last: Place = (-1, "", "", "")
        self.sha256 = ""

    async def header(self) -> Record:
        record = await self.peek()
        if record["kind"] != "header":
            raise ExportDamaged("the first line is no header; give a file that `knotwork export` wrote")
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
                raise ExportDamaged("the export is cut off: its last line is missing; export it again")
            record = from_line(line)
            if (at := place(record)) <= self._last:
                raise ExportDamaged(f"the lines are not in order at {record.get('id')!r}; export them again")
            if record["kind"] == "end":
                if record.get("sha256") != self._state.hexdigest:
                    raise ExportDamaged("the lines do not match their hash; the file was changed, export it again")
                self.sha256 = self._state.hexdigest
            else:
                self._state.add(line)
            self._next, self._last = record, at
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
            batch.append(_Incoming(*source_of(record)))
        else:
            if not batch:
                raise ExportDamaged(f"chunk {record['id']!r} stands before its source; export it again")
            chunk, evidence = chunk_of(record, batch[-1].parsed)
            batch[-1].chunks.append(chunk)
            if evidence is not None:
                batch[-1].evidence.append(evidence)
        records.take()
    if batch:
        yield batch


def _is_full(batch: Sequence[_Incoming]) -> bool:
    chars = sum(one.source.size_chars for one in batch)
    return chars >= BATCH_CHARS or sum(len(one.chunks) for one in batch) >= BATCH_CHUNKS


class _SideFile:
    """The vectors that come with an export, joined to its records by their common order."""

    def __init__(self, lines: AsyncIterator[bytes] | None, embedder: Embedder) -> None:
        self._lines, self._embedder = lines, embedder
        self._next: Record | None = None

    async def open(self) -> None:
        """Read the header; vectors of another embedder are of no use."""
        if self._lines is None:
            return
        line = await anext(self._lines, None)
        header = from_line(line) if line else {}
        if header.get("format") != VECTOR_FORMAT or header.get("version") != VERSION:
            raise ExportDamaged("this is no file of vectors; give one that `knotwork export --vectors` wrote")
        if header["embedder"] != self._embedder.id:
            self._lines = None

    async def find(self, kind: str, id_: str) -> Record | None:
        """The vector's line of this thing; asked in the order of the export."""
        wanted = place({"kind": kind, "id": id_})
        while self._lines is not None:
            if self._next is None:
                line = await anext(self._lines, None)
                if line is None:
                    return None
                self._next = from_line(line)
            at = place(self._next)
            if at > wanted:
                return None
            found, self._next = self._next, None
            if at == wanted:
                return found
        return None


class _Load:
    """Counts of one import, and where its vectors come from."""

    def __init__(self, embedder: Embedder, side: _SideFile) -> None:
        self._embedder, self._side = embedder, side
        self.sources = self.chunks = self.embedded = 0

    async def vectors_of_chunks(self, chunks: Sequence[Chunk]) -> list[Vector]:
        return await self._vectors(
            "chunk",
            [chunk.id for chunk in chunks],
            [embedding_text(chunk) for chunk in chunks],
            [embedding_key(self._embedder.id, chunk) for chunk in chunks],
        )

    async def vectors_of_entities(self, ids: Sequence[EntityId]) -> dict[EntityId, Vector]:
        found = await self._vectors("entity", ids, [entity_text(id_) for id_ in ids], [None] * len(ids))
        return dict(zip(ids, found, strict=True))

    async def vectors_of_relationships(self, ids: Sequence[RelationshipId]) -> dict[RelationshipId, Vector]:
        found = await self._vectors("relationship", ids, [relationship_text(id_) for id_ in ids], [None] * len(ids))
        return dict(zip(ids, found, strict=True))

    async def _vectors(
        self, kind: str, ids: Sequence[str], texts: Sequence[str], keys: Sequence[str | None]
    ) -> list[Vector]:
        """A vector each: the one that came along where it was made of the same, else the embedder's."""
        vectors: list[Vector | None] = []
        for id_, key in zip(ids, keys, strict=True):
            line = await self._side.find(kind, id_)
            vectors.append(unpacked(line["vector"]) if line and line["key"] == key else None)
        due = list(dict.fromkeys(text for text, vector in zip(texts, vectors, strict=True) if vector is None))
        made: dict[str, Vector] = {}
        if due:
            self.embedded += len(due)
            made = dict(zip(due, (await self._embedder.embed(due)).vectors, strict=True))
        return [made[text] if vector is None else vector for text, vector in zip(texts, vectors, strict=True)]
