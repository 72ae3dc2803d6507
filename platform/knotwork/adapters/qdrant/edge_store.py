"""VectorStore over Qdrant Edge: Qdrant's own engine inside the process, for the embedded stack."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, cast

import qdrant_edge as edge
import structlog

from knotwork.adapters.qdrant.edge_folder import EdgeFolder, Pointer, Role, other_folder
from knotwork.adapters.qdrant.edge_requests import edge_filter, edge_point, range_index, shard_config, sparse_vector
from knotwork.adapters.qdrant.edge_shard import OwnedShard
from knotwork.adapters.qdrant.mapping import (
    BM25,
    DENSE,
    KEYWORD_FIELDS,
    RANGE_INDEXES,
    SCAN_PAGE,
    as_vector,
    changed_payload,
    conditions,
    from_payload,
    other_model,
    own_model,
    physical_name,
    point_key,
    scroll_cursor,
    stray_id,
)
from knotwork.adapters.qdrant.ranking import Complete, Search, best, threshold
from knotwork.domain.bm25 import outline_query_terms, query_terms
from knotwork.domain.model import TenantId, Vector
from knotwork.errors import DimensionMismatch, SetupFailed
from knotwork.ports.compaction import Compacted
from knotwork.ports.vector_store import Collection, Hit, Point, StoredPoint, View

T = TypeVar("T")

log = structlog.get_logger(__name__)

_BATCH = 1000  # points an update; queries run between two


class EdgeVectorStore:
    """VectorStore in one folder: a shard a collection, each with a thread of its own.

    A folder belongs to one process. `optimize()`, which alone builds an index of vectors, is never called, for it stops
    every other thread: searches are exhaustive, which is exact, and take 15 ms at 100,000 points, 50 at 330,000.
    """

    def __init__(self, folder: Path | EdgeFolder, role: Role = "live") -> None:
        """`role` other than live is for the store that `successor` gives, in the folder of this one."""
        self._folder = folder if isinstance(folder, EdgeFolder) else EdgeFolder(folder)
        self._role: Role = role
        self._successor: EdgeVectorStore | None = None
        self._shards: dict[Collection, OwnedShard] = {}
        self._dimension = 0
        self._model = ""
        self._flushing = asyncio.Lock()
        self._next_flush: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Take the folder for this process.

        Raises:
            SetupFailed: another process has it.
        """
        await asyncio.to_thread(self._folder.lock)

    async def prepare(self, *, model: str, dimension: int) -> None:
        """Create or load the shards of this embedding model; `open` comes first.

        Raises:
            DimensionMismatch: the folder holds vectors of another dimension.
            SetupFailed: the folder holds vectors of another model of the same dimension.
        """
        for collection, pointer in self._folder.pointers(self._role).items():
            _check(collection, pointer, model, dimension)
        self._model, self._dimension = model, dimension
        for collection in Collection:  # one after the other: each may write the one file of pointers
            if collection not in self._shards:
                await self._open(collection)

    async def holds(self, *, model: str, dimension: int) -> bool:
        pointers = self._folder.pointers()
        return bool(pointers) and all((one.model, one.dimension) == (model, dimension) for one in pointers.values())

    async def successor(self, *, model: str, dimension: int) -> EdgeVectorStore:
        return await _to_its_end(self._begin_successor(model, dimension))

    async def _begin_successor(self, model: str, dimension: int) -> EdgeVectorStore:
        if self._successor is None:
            if await self.holds(model=model, dimension=dimension):
                raise own_model(model)
            begun = self._folder.pointers("next").values()
            if any((one.model, one.dimension) != (model, dimension) for one in begun):
                await self._forget_successor()
            successor = EdgeVectorStore(self._folder, "next")
            try:
                await successor.prepare(model=model, dimension=dimension)
            except BaseException:
                await successor.close_shards()  # whoever tries again opens them anew
                raise
            self._successor = successor
        return self._successor

    async def promote(self) -> None:
        await _to_its_end(self._promote())

    async def _promote(self) -> None:
        successor = self._successor
        if successor is None:
            raise SetupFailed("there is no successor; call successor() and fill it first")
        await successor.flush()
        await asyncio.to_thread(self._folder.promote)
        self._successor = None  # only now: until then it can be tried again
        # It is done, whatever becomes of the former shards; the next promotion removes what is left of them.
        closed = await asyncio.gather(*(shard.close() for shard in self._take_over(successor)), return_exceptions=True)
        removed = await asyncio.gather(asyncio.to_thread(self._folder.remove_unnamed), return_exceptions=True)
        for failure in filter(None, (*closed, *removed)):
            log.warning("former_vectors_left", reason=str(failure))

    async def drop_successor(self) -> None:
        await _to_its_end(self._forget_successor())

    async def _forget_successor(self) -> None:
        if self._successor is not None:
            await self._successor.close_shards()
            self._successor = None
        await asyncio.to_thread(self._folder.forget_next)
        await asyncio.to_thread(self._folder.remove_unnamed)

    async def upsert(self, tenant: TenantId, collection: Collection, points: Sequence[Point]) -> None:
        shard = self._shard(collection)
        for start in range(0, len(points), _BATCH):
            self._folder.require_room()

            def work(engine: edge.EdgeShard, batch: Sequence[Point] = points[start : start + _BATCH]) -> None:
                rows = [
                    edge_point(tenant, point, collection=collection.value, dimension=self._dimension) for point in batch
                ]
                engine.update(edge.UpdateOperation.upsert_points(rows))

            await shard.write("upsert", work)

    async def set_payload(
        self, tenant: TenantId, collection: Collection, rows: Sequence[tuple[str, Mapping[str, object]]]
    ) -> None:
        def work(engine: edge.EdgeShard, batch: Sequence[tuple[str, Mapping[str, object]]]) -> None:
            for id_, payload in batch:
                # by filter: a set by id fails where one is unknown
                only = edge_filter((), [point_key(tenant, id_)])
                engine.update(edge.UpdateOperation.set_payload_by_filter(only, changed_payload(payload)))

        for start in range(0, len(rows), _BATCH):
            self._folder.require_room()
            batch = rows[start : start + _BATCH]
            await self._shard(collection).write("set_payload", lambda engine, batch=batch: work(engine, batch))

    async def delete(self, tenant: TenantId, collection: Collection, ids: Sequence[str]) -> None:
        if ids:
            operation = edge.UpdateOperation.delete_points([point_key(tenant, id_) for id_ in ids])
            await self._shard(collection).write("delete", lambda engine: engine.update(operation))
            if self._successor:
                await self._successor.delete(tenant, collection, ids)

    async def fetch(
        self, tenant: TenantId, collection: Collection, ids: Sequence[str], *, view: View, with_vectors: bool = False
    ) -> list[StoredPoint]:
        keys = list(dict.fromkeys(point_key(tenant, id_) for id_ in ids))
        if not keys:
            return []
        request = edge.ScrollRequest(
            limit=len(keys),
            filter=await self._filter(tenant, collection, view, keys),
            with_payload=True,
            with_vector=[DENSE] if with_vectors else False,
        )
        found, _ = await self._shard(collection).read("fetch", lambda engine: engine.scroll(request))
        by_key = {str(record.id): _stored(record) for record in found}
        return [by_key[key] for key in keys if key in by_key]

    async def scroll(
        self,
        tenant: TenantId,
        collection: Collection,
        *,
        view: View,
        after: str | None,
        limit: int,
        with_vectors: bool = False,
    ) -> tuple[list[StoredPoint], str | None]:
        request = edge.ScrollRequest(
            offset=scroll_cursor(after),
            limit=limit,
            filter=await self._filter(tenant, collection, view),
            with_payload=True,
            with_vector=[DENSE] if with_vectors else False,
        )
        found, following = await self._shard(collection).read("scroll", lambda engine: engine.scroll(request))
        return [_stored(record) for record in found], None if following is None else str(following)

    async def strays(self, tenant: TenantId, collection: Collection, *, remove: bool = False) -> list[str]:
        shard, visible = self._shard(collection), edge_filter(conditions(tenant, View()))
        found: dict[str, str] = {}
        after: edge.PointId | None = None
        while True:
            request = edge.ScrollRequest(offset=after, limit=SCAN_PAGE, filter=visible, with_payload=["tenant", "id"])
            page, after = await shard.read("strays", lambda engine, request=request: engine.scroll(request))
            found |= {str(one.id): id_ for one in page if (id_ := stray_id(tenant, str(one.id), one.payload))}
            if after is None:
                break
        if found and remove:
            operation = edge.UpdateOperation.delete_points([*found])
            await shard.write("delete", lambda engine: engine.update(operation))
        return sorted(found.values())

    async def count(self, tenant: TenantId, collection: Collection, *, view: View) -> int:
        request = edge.CountRequest(exact=True, filter=await self._filter(tenant, collection, view))
        return await self._shard(collection).read("count", lambda engine: engine.count(request))

    async def search_dense(
        self,
        tenant: TenantId,
        collection: Collection,
        vector: Vector,
        *,
        view: View,
        limit: int,
        min_score: float | None = None,
        with_payload: bool = True,
    ) -> list[Hit]:
        query = edge.Query.Nearest(
            as_vector(vector, collection=collection.value, dimension=self._dimension), using=DENSE
        )
        visible = await self._filter(tenant, collection, view)
        search = self._search(collection, query, visible, edge.SearchParams(exact=True), min_score)
        complete = self._complete(tenant, collection, view)
        return await best(search, complete, limit=limit, min_score=min_score, with_payload=with_payload, bound=1.0)

    async def search_keyword(
        self,
        tenant: TenantId,
        query: str,
        *,
        view: View,
        limit: int,
        min_score: float | None = None,
        by_outline: bool = False,
        with_payload: bool = True,
    ) -> list[Hit]:
        terms = outline_query_terms(query) if by_outline else query_terms(query)
        if not terms:
            return []
        nearest = edge.Query.Nearest(sparse_vector(terms), using=BM25)
        visible = await self._filter(tenant, Collection.CHUNKS, view)
        params = edge.SearchParams(idf=edge.IdfParams(corpus=visible))  # statistics of what this caller may see
        search = self._search(Collection.CHUNKS, nearest, visible, params, min_score)
        complete = self._complete(tenant, Collection.CHUNKS, view)
        return await best(search, complete, limit=limit, min_score=min_score, with_payload=with_payload)

    async def drop_tenant(self, tenant: TenantId) -> None:
        operation = edge.UpdateOperation.delete_points_by_filter(edge_filter(conditions(tenant, View())))
        for shard in self._shards.values():
            await shard.write("drop_tenant", lambda engine: engine.update(operation))
        if self._successor:
            await self._successor.drop_tenant(tenant)

    async def compact(self) -> Compacted:
        """See `Compactable`: one collection after the other; queries go on, writes to that collection wait.

        A successor's too. One that is on disk and was not opened has missed what was deleted since: it goes.
        """
        before = await asyncio.to_thread(self._folder.size_bytes)
        await self.rewrite_shards()
        if self._successor is not None:
            await self._successor.rewrite_shards()
        elif self._folder.pointers("next"):
            await self.drop_successor()
        return Compacted("Qdrant Edge", before, await asyncio.to_thread(self._folder.size_bytes))

    async def flush(self) -> None:
        """Return once everything written before is on disk; callers who wait at once share one flush."""
        if self._next_flush is None:
            self._next_flush = asyncio.create_task(self._flush())
        await asyncio.shield(self._next_flush)

    async def close(self) -> None:
        """Flush, close the shards and give the folder back."""
        try:
            if self._successor is not None:
                await self._successor.close_shards()
        finally:
            try:
                await self.close_shards()
            finally:
                self._folder.unlock()

    async def rewrite_shards(self) -> None:
        """Copy every shard into a fresh folder and remove the old one."""
        for collection, shard in self._shards.items():
            old = self._folder.pointers(self._role)[collection]
            folder = other_folder(old.folder)
            await shard.rewrite(
                lambda folder=folder, collection=collection: self._create(collection, folder),
                lambda folder=folder, collection=collection, old=old: self._folder.point(
                    {collection: replace(old, folder=folder)}, self._role
                ),
            )
            await asyncio.to_thread(shutil.rmtree, self._folder.shard_path(old.folder))

    async def close_shards(self) -> None:
        """Flush and close the shards, keep the folder."""
        shards = [*self._shards.values()]
        self._shards.clear()
        ends = await asyncio.gather(*(shard.close() for shard in shards), return_exceptions=True)
        for failure in filter(None, ends):
            raise failure

    def _take_over(self, other: EdgeVectorStore) -> list[OwnedShard]:
        """Go on with the shards of another store; those of this one until now."""
        former = [*self._shards.values()]
        self._shards, self._model, self._dimension = other._shards, other._model, other._dimension
        return former

    async def _open(self, collection: Collection) -> None:
        shard = OwnedShard(collection.value)
        await shard.open(lambda: self._load(collection))
        self._shards[collection] = shard

    async def _flush(self) -> None:
        async with self._flushing:
            self._next_flush = None  # who comes from now on may have written too late for this one
            await asyncio.gather(*(shard.flush() for shard in self._shards.values()))

    def _load(self, collection: Collection) -> edge.EdgeShard:
        """On the shard's thread: open the shard, or make the first one."""
        pointer = self._folder.pointers(self._role).get(collection)
        if pointer is not None:
            # A crash in the middle of compacting leaves the copy it left behind, or did not come to use.
            shutil.rmtree(self._folder.shard_path(other_folder(pointer.folder)), ignore_errors=True)
            return edge.EdgeShard.load(str(self._folder.shard_path(pointer.folder)))
        folder = physical_name(collection, self._model, self._dimension)
        shard = self._create(collection, folder)
        shard.flush()
        self._folder.point({collection: Pointer(folder, self._model, self._dimension)}, self._role)
        return shard

    def _create(self, collection: Collection, folder: str) -> edge.EdgeShard:
        """An empty shard, with its indexes."""
        path = self._folder.shard_path(folder)
        shutil.rmtree(path, ignore_errors=True)  # what no pointer names was left by a crash before its first use
        config = shard_config(self._dimension, keyword=collection is Collection.CHUNKS)
        path.mkdir()
        shard = edge.EdgeShard.create(str(path), config)
        for field in KEYWORD_FIELDS:
            index = edge.KeywordIndexParams(enable_hnsw=False)
            shard.update(edge.UpdateOperation.create_field_index(field, index))
        return shard

    def _shard(self, collection: Collection) -> OwnedShard:
        try:
            return self._shards[collection]
        except KeyError:
            raise SetupFailed("the vector store is not open; call open() and prepare() first") from None

    async def _filter(
        self, tenant: TenantId, collection: Collection, view: View, keys: Sequence[str] | None = None
    ) -> edge.Filter:
        shard = self._shard(collection)
        found = conditions(tenant, view)
        for condition in found:
            index = range_index(condition)
            path = condition.key.replace('"', "")
            if index and path not in shard.indexed and len(shard.indexed) < len(KEYWORD_FIELDS) + RANGE_INDEXES:
                await shard.write("index", lambda engine, index=index: engine.update(index))
        return edge_filter(found, keys)

    def _search(
        self,
        collection: Collection,
        query: edge.Query,
        visible: edge.Filter,
        params: edge.SearchParams,
        min_score: float | None,
    ) -> Search:
        shard, floor = self._shard(collection), threshold(min_score)

        async def search(wanted: int, whole: bool) -> list[edge.ScoredPoint]:
            request = edge.QueryRequest(
                limit=wanted,
                query=query,
                filter=visible,
                score_threshold=floor,
                with_payload=True if whole else ["id"],
                params=params,
            )
            return await shard.query(request)

        return search

    def _complete(self, tenant: TenantId, collection: Collection, view: View) -> Complete:
        async def complete(ids: Sequence[str]) -> dict[str, Mapping[str, object]]:
            return {point.id: point.payload for point in await self.fetch(tenant, collection, ids, view=view)}

        return complete


def _check(collection: Collection, pointer: Pointer, model: str, dimension: int) -> None:
    if pointer.dimension != dimension:
        raise DimensionMismatch(collection=collection.value, stored=pointer.dimension, configured=dimension)
    if pointer.model != model:
        raise other_model(collection.value, pointer.model, model)


def _stored(record: edge.Record) -> StoredPoint:
    id_, payload = from_payload(record.payload)
    vector = cast("list[float]", record.vector[DENSE]) if isinstance(record.vector, dict) else None
    return StoredPoint(id_, payload, vector)


async def _to_its_end(work: Coroutine[Any, Any, T]) -> T:
    """Do the work whole, though its caller be cancelled meanwhile.

    A thread cannot be cancelled: half of it would go on, beside whoever opens the folder next.
    """
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # looked at, or it would be logged
        raise
