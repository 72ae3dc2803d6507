"""Change of the embedding model: all is embedded anew beside the present points, which answer until the switch."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol, cast

import structlog

from knotwork.domain.inputs import embedding_key, embedding_text, entity_text, relationship_text
from knotwork.domain.model import Chunk, ChunkId, EntityId, RelationshipId, SourceRef, TenantId
from knotwork.errors import MaintenanceUnderWay, PlatformError
from knotwork.ports.catalogue import Catalogue
from knotwork.ports.models import Embedder
from knotwork.ports.vector_store import Collection, Point, StoredPoint, VectorStore, View
from knotwork.services.model_in_use import EmbedderInUse
from knotwork.services.points import keyword_text

log = structlog.get_logger()

PAGE = 256  # points compared, embedded and written together: bounds memory, and what a stop repeats
RETRY_S = 10.0  # until a store or model that did not answer is asked again
FILLED = (Collection.CHUNKS, Collection.ENTITIES, Collection.RELATIONSHIPS)
ROUNDS = 5  # times the points are gone through while requests are carried out; what is left is done while they wait


class HoldAll(Protocol):
    """No run under way and no request recorded inside the block."""

    def __call__(self) -> AbstractAsyncContextManager[None]: ...


class Alone(Protocol):
    """No operation on the stores under way inside the block; MaintenanceUnderWay when there is one."""

    def __call__(self) -> AbstractContextManager[None]: ...


@dataclass(frozen=True, slots=True)
class ChangeProgress:
    """How far the change to a model has come; `total` grows with what is put meanwhile."""

    model: str
    done: int
    total: int


class ModelChange:
    """Fills the successor of the vector store with the next model's vectors and puts both in place, at once.

    What is stored decides what is left to do, so that a stopped change goes on where it was: a point that the
    successor holds as it should be is not embedded again.
    """

    def __init__(
        self,
        *,
        catalogue: Catalogue,
        vectors: VectorStore,
        in_use: EmbedderInUse,
        following: Embedder,
        hold_all: HoldAll,
        alone: Alone,
    ) -> None:
        self._catalogue, self._vectors = catalogue, vectors
        self._in_use, self._next = in_use, following
        self._hold_all, self._alone = hold_all, alone
        self.progress: ChangeProgress | None = None  # None: not under way
        self.trouble: str | None = None  # why it waits or has stopped
        self._successor: VectorStore | None = None  # None: there is none as yet, or it has taken its place
        self._filling = asyncio.Lock()  # held from reading what a page is to be until it is written

    async def run(self) -> None:
        """Carry the change to its end, however often a store or the model does not answer, or a disk is full.

        What trying again cannot mend stops it, and `trouble` says why: the present model goes on answering.
        """
        while True:
            try:
                if self._in_use.id != self._next.id:
                    await self._change()
                await self._mark_chunks()
            except (PlatformError, OSError) as error:  # an OSError: the disk of the vectors
                self.trouble = str(error)
                if isinstance(error, PlatformError) and not error.retryable:
                    log.exception("model_change_stopped", code=error.code, reason=str(error))
                    return
                log.warning("model_change_waits", reason=str(error), retry_s=RETRY_S)
                await asyncio.sleep(RETRY_S)
            else:
                self.progress = self.trouble = None
                return

    @asynccontextmanager
    async def hold(self) -> AsyncGenerator[None]:
        """Fill nothing inside the block; what is filled then says no more than the present points do.

        For whoever rids files of what was deleted: no run may be under way. Points that changed are filled anew later.

        Raises:
            StoreUnavailable: the catalogue is away.
        """
        async with self._filling:
            if self._successor is not None:
                for tenant in await self._catalogue.tenants():
                    for collection in FILLED:
                        await self._remove(self._successor, tenant, collection, also_stale=True)
            yield

    async def _change(self) -> None:
        if await self._vectors.holds(model=self._next.id, dimension=self._next.dimension):
            async with self._hold_all(), self._in_use.change(self._next):  # another process has made the switch
                await self._vectors.prepare(model=self._next.id, dimension=self._next.dimension)
            return
        async with self._filling:
            successor = await self._vectors.successor(model=self._next.id, dimension=self._next.dimension)
            self._successor = successor
        log.info("model_change_begun", model=self._in_use.id, next=self._next.id)
        for _ in range(ROUNDS):  # while requests go on: each round finds what the one before could not know of
            if not await self._fill(successor):
                break
        while True:
            try:
                with self._alone():
                    async with self._hold_all():
                        await self._fill(successor)
                        await successor.flush()
                        async with self._in_use.change(self._next):
                            await self._vectors.promote()
                            self._successor = None
            except MaintenanceUnderWay:
                await asyncio.sleep(1.0)
            else:
                log.info("model_changed", model=self._next.id)
                return

    async def _fill(self, successor: VectorStore) -> int:
        """Bring the successor's points to what the present ones say; how many had to be written or removed."""
        tenants = await self._catalogue.tenants()
        total = sum([await self._vectors.count(each, name, view=View()) for each in tenants for name in FILLED])
        self.progress, self.trouble = ChangeProgress(self._next.id, 0, total), None
        changed = 0
        for tenant in tenants:
            for collection in FILLED:
                changed += await self._fill_collection(successor, tenant, collection)
                changed += await self._remove(successor, tenant, collection)
        return changed

    async def _fill_collection(self, successor: VectorStore, tenant: TenantId, collection: Collection) -> int:
        changed, after = 0, None
        while True:
            async with self._filling:
                page, after = await self._vectors.scroll(tenant, collection, view=View(), after=after, limit=PAGE)
                wanted = [self._wanted(collection, point) for point in page]
                there = {
                    point.id: point
                    for point in await successor.fetch(
                        tenant, collection, [point.id for point in page], view=View(), with_vectors=True
                    )
                }
                due = [one for one in wanted if not _is_there(one, there.get(one.point.id))]
                if due:
                    await successor.upsert(tenant, collection, await self._with_vectors(due, there))
                    changed += len(due)
            if self.progress:
                self.progress = replace(self.progress, done=self.progress.done + len(page))
            if after is None:
                return changed

    async def _with_vectors(self, due: Sequence[_Wanted], there: Mapping[str, StoredPoint]) -> list[Point]:
        """The points, with the vectors that the successor has under the same key, and new ones for the rest."""
        points = [_reused(one, there.get(one.point.id)) for one in due]
        missing = [at for at, point in enumerate(points) if point is None]
        vectors = (await self._next.embed([due[at].text for at in missing])).vectors if missing else []
        for at, vector in zip(missing, vectors, strict=True):
            points[at] = replace(due[at].point, vector=vector)
        return [point for point in points if point is not None]

    async def _remove(
        self, successor: VectorStore, tenant: TenantId, collection: Collection, *, also_stale: bool = False
    ) -> int:
        """Remove the points that the present store does not have (any more), or has with another payload; how many."""
        removed, after = 0, None
        while True:
            page, after = await successor.scroll(tenant, collection, view=View(), after=after, limit=PAGE)
            ids = [point.id for point in page]
            present = {point.id: point for point in await self._vectors.fetch(tenant, collection, ids, view=View())}
            if extra := [
                point.id
                for point in page
                if point.id not in present
                or (also_stale and not _is_there(self._wanted(collection, present[point.id]), point))
            ]:
                await successor.delete(tenant, collection, extra)
                removed += len(extra)
            if after is None:
                return removed

    async def _mark_chunks(self) -> None:
        """Note the new embedding keys in the catalogue: the chunks are up to date under the new model."""
        for tenant in await self._catalogue.tenants():
            after = None
            while True:
                page, after = await self._vectors.scroll(
                    tenant, Collection.CHUNKS, view=View(), after=after, limit=PAGE
                )
                keys = {ChunkId(point.id): str(point.payload["embedding_key"]) for point in page}
                await self._catalogue.set_embedding_keys(tenant, keys)
                if after is None:
                    break

    def _wanted(self, collection: Collection, point: StoredPoint) -> _Wanted:
        """A point as the next model's collection should hold it, but for the vector."""
        if collection is Collection.CHUNKS:
            chunk = _chunk_of(point)
            payload = {**point.payload, "embedding_key": embedding_key(self._next.id, chunk)}
            return _Wanted(embedding_text(chunk), Point(point.id, (), payload, keyword_text(chunk)))
        is_entity = collection is Collection.ENTITIES
        text = entity_text(EntityId(point.id)) if is_entity else relationship_text(RelationshipId(point.id))
        return _Wanted(text, Point(point.id, (), point.payload))


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A point without its vector, and what the embedder reads of it."""

    text: str
    point: Point


def _is_there(wanted: _Wanted, stored: StoredPoint | None) -> bool:
    return stored is not None and stored.payload == wanted.point.payload


def _reused(wanted: _Wanted, there: StoredPoint | None) -> Point | None:
    """The point with the vector that the successor has of the same text; None: it has none."""
    if there is None or there.vector is None:
        return None
    if there.payload.get("embedding_key") != wanted.point.payload.get("embedding_key"):
        return None
    return replace(wanted.point, vector=there.vector)


def _chunk_of(point: StoredPoint) -> Chunk:
    """The chunk that a point was made of, as far as models and keyword search see it."""
    values = cast("Mapping[str, Any]", point.payload)
    return Chunk(
        id=ChunkId(point.id),
        source=SourceRef(values["source_type"], values["source_id"]),
        index=values["index"],
        text=values["text"],
        content_hash=values["content_hash"],
        title=values["title"],
        headings=tuple(values["headings"]),
        start=values["start"],
        end=values["end"],
        page=values.get("page"),
    )
