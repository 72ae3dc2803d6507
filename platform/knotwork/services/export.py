"""Export: everything a tenant has, as canonical lines (domain/export.py), streamed page by page."""

from __future__ import annotations

import base64
import struct
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from typing import TypeAlias

from knotwork.domain.catalogue import SourceState
from knotwork.domain.export import (
    VECTOR_FORMAT,
    VERSION,
    Record,
    Settings,
    StateHash,
    chunk_record,
    entity_record,
    header_record,
    relationship_record,
    source_record,
    to_line,
)
from knotwork.domain.model import Source, SourceRef, TenantId, Vector
from knotwork.errors import TextMissing
from knotwork.ports.catalogue import Catalogue
from knotwork.ports.chunker import Chunker
from knotwork.ports.graph_store import GraphStore
from knotwork.ports.models import Embedder
from knotwork.ports.vector_store import Collection, VectorStore, View

SOURCES = 100  # sources looked up together
CHUNKS = 2_000  # chunks of small sources read together; one source of more is read by itself
VECTORS = 1_000  # vectors fetched together

# Tells how far something has come: the step, and what is done of how many; a total of 0 is not known.
Tell: TypeAlias = Callable[[str, int, int], None]
Hold: TypeAlias = Callable[[TenantId], AbstractAsyncContextManager[None]]  # no run of the tenant is under way inside


class Exporter:
    """Reads one tenant's state out of the stores. Memory is bounded by a page, and by the largest source."""

    def __init__(
        self,
        *,
        catalogue: Catalogue,
        graph: GraphStore,
        vectors: VectorStore,
        embedder: Embedder,
        chunker: Chunker,
        hold: Hold,
    ) -> None:
        self._catalogue, self._graph, self._vectors = catalogue, graph, vectors
        self._embedder, self._chunker, self._hold = embedder, chunker, hold

    async def export(self, tenant: TenantId) -> AsyncGenerator[bytes]:
        """The lines of the tenant's export; its runs wait until the last one is taken, so take them to a file first.

        Raises:
            UnknownTenant: there is no such tenant.
            TextMissing: a stored source has lost its text; `knotwork repair` says what can be done.
        """
        async with self._hold(tenant):
            state = StateHash()
            async with aclosing(self._records(tenant)) as records:
                async for record in records:
                    yield state.add(to_line(record))
            yield to_line(state.end_record())

    async def state(self, tenant: TenantId) -> str:
        """The SHA-256 that names the tenant's state: that of an export's last line.

        Raises:
            UnknownTenant, TextMissing: as `export`.
        """
        async with self._hold(tenant):
            state = StateHash()
            async for record in self._records(tenant):
                state.add(to_line(record))
            return state.hexdigest

    async def export_vectors(self, tenant: TenantId) -> AsyncGenerator[bytes]:
        """The vectors of the tenant's points, a line each, in the order of the export; they are no part of the state.

        A line is {kind, id, key, vector}: `key` is the embedding key of a chunk, `vector` float32 in base64, little
        end first. The header names the embedder.

        Raises:
            UnknownTenant: there is no such tenant.
        """
        await self._catalogue.tenant(tenant)
        async with self._hold(tenant):
            yield to_line(
                {
                    "kind": "header",
                    "format": VECTOR_FORMAT,
                    "version": VERSION,
                    "embedder": self._embedder.id,
                    "dimension": self._embedder.dimension,
                }
            )
            async for states in source_states(self._catalogue, tenant):
                ids = [chunk.id for state in states for chunk in sorted(state.chunks, key=lambda chunk: chunk.id)]
                async for line in self._vector_lines(tenant, Collection.CHUNKS, "chunk", ids):
                    yield line
            async for part in self._graph.export_graph(tenant):
                entities = [entity.id for entity in part.entities]
                async for line in self._vector_lines(tenant, Collection.ENTITIES, "entity", entities):
                    yield line
                relationships = [one.id for one in part.relationships]
                async for line in self._vector_lines(tenant, Collection.RELATIONSHIPS, "relationship", relationships):
                    yield line

    async def _records(self, tenant: TenantId) -> AsyncGenerator[Record]:
        yield header_record(Settings(self._chunker.id, await self._catalogue.tenant(tenant)))
        async for states in source_states(self._catalogue, tenant):
            evidence = await self._graph.evidence(tenant, [chunk.id for state in states for chunk in state.chunks])
            for state in states:
                parsed = await self._catalogue.text(tenant, state.source.ref)
                if parsed is None:
                    raise TextMissing(
                        f"the text of {state.source.ref.type}:{state.source.ref.id} is missing; run `knotwork repair`, "
                        "or put the source again"
                    )
                yield source_record(state.source, parsed)
                for chunk in sorted(state.chunks, key=lambda chunk: chunk.id):
                    yield chunk_record(chunk, evidence.get(chunk.id))
        async for part in self._graph.export_graph(tenant):
            for entity in part.entities:
                yield entity_record(entity)
            for relationship in part.relationships:
                yield relationship_record(relationship)

    async def _vector_lines(
        self, tenant: TenantId, collection: Collection, kind: str, ids: Sequence[str]
    ) -> AsyncIterator[bytes]:
        for start in range(0, len(ids), VECTORS):
            part = ids[start : start + VECTORS]
            for point in await self._vectors.fetch(tenant, collection, part, view=View(), with_vectors=True):
                if point.vector is not None:
                    key = point.payload.get("embedding_key")
                    yield to_line({"kind": kind, "id": point.id, "key": key, "vector": packed(point.vector)})


def tell_nobody(_step: str, _done: int, _total: int) -> None:
    """A `Tell` for callers that nobody watches."""


async def source_states(catalogue: Catalogue, tenant: TenantId) -> AsyncIterator[list[SourceState]]:
    """Every source of a tenant with its chunks, in order of (type, id), in pages of bounded size."""
    after: SourceRef | None = None
    while page := await catalogue.sources(tenant, view=View(), after=after, limit=SOURCES):
        for group in _groups(page):
            states = await catalogue.states(tenant, [source.ref for source in group])
            yield [states[source.ref] for source in group if source.ref in states]
        after = page[-1].ref


def packed(vector: Vector) -> str:
    """A vector as float32, little end first, in base64."""
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode("ascii")


def unpacked(text: str) -> list[float]:
    """The vector that `packed` wrote."""
    data = base64.b64decode(text)
    return list(struct.unpack(f"<{len(data) // 4}f", data))


def _groups(sources: Sequence[Source]) -> Iterator[list[Source]]:
    group: list[Source] = []
    chunks = 0
    for source in sources:
        if group and chunks + source.chunks > CHUNKS:
            yield group
            group, chunks = [], 0
        group.append(source)
        chunks += source.chunks
    if group:
        yield group
