"""VectorStore over a Qdrant server or cluster, 1.20 or later."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from typing import cast

import structlog
from qdrant_client import AsyncQdrantClient, models
from qdrant_client.http.exceptions import UnexpectedResponse

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
from knotwork.adapters.qdrant.server_errors import CONFLICT, attempt, status
from knotwork.adapters.qdrant.server_requests import (
    BATCH_ITEMS,
    batches,
    payload_bytes,
    point_bytes,
    range_schema,
    server_filter,
    server_point,
    sparse_vector,
)
from knotwork.domain.bm25 import outline_query_terms, query_terms
from knotwork.domain.model import TenantId, Vector
from knotwork.errors import DimensionMismatch, PlatformError, SetupFailed, StoreUnavailable
from knotwork.ports.vector_store import Collection, Hit, Point, StoredPoint, View

log = structlog.get_logger(__name__)

_EXACT_LIMIT = 100_000  # visible points up to which a search is exhaustive
_HNSW_EF = 256  # candidates of an approximate search; below, recall falls under 0.98
_OLDEST = (1, 20)  # the first with BM25 statistics over a filter; older servers ignore the request for it
_SIZE_AGE_S = 10.0  # how long a collection's size is believed


class ServerVectorStore:
    """VectorStore over the REST interface of a server that others may share.

    Args:
        client: A REST client (`prefer_grpc=False`), closed by `close`.
        prefix: Before the name of each collection and alias.
    """

    def __init__(self, client: AsyncQdrantClient, *, prefix: str = "knotwork_") -> None:
        self._client = client
        self._prefix = prefix
        self._dimension = 0
        self._names: dict[Collection, str] = {}  # aliases, or the collections that they are to name once promoted
        self._successor: ServerVectorStore | None = None
        self._indexed: dict[Collection, set[str]] = {collection: set() for collection in Collection}
        self._sizes: dict[Collection, tuple[float, int]] = {}

    async def prepare(self, *, model: str, dimension: int) -> None:
        """Create the collections of this embedding model and their aliases, once; any number of processes may try.

        Raises:
            DimensionMismatch: the collections hold vectors of another dimension.
            SetupFailed: they hold those of another model of the same dimension, or the server is too old.
            StoreUnavailable: the server did not answer.
        """
        version = (await attempt("info", self._client.info)).version
        if tuple(map(int, re.findall(r"\d+", version)[:2])) < _OLDEST:
            raise SetupFailed(f"Qdrant is {version}; Knotwork needs 1.20 or later, for BM25 over what a caller may see")
        for collection in Collection:
            await self._check(collection, model, dimension)
        for collection in Collection:
            physical = self._prefix + physical_name(collection, model, dimension)
            await self._create(collection, physical, dimension)
            if await self._live(collection) is None:
                await self._point_alias(collection, physical)
            await self._check(collection, model, dimension)  # another process may have been quicker, with another model
        self._names = {collection: self._prefix + collection.value for collection in Collection}
        self._dimension = dimension

    async def holds(self, *, model: str, dimension: int) -> bool:
        live = [await self._live(collection) for collection in Collection]
        return live == [self._prefix + physical_name(collection, model, dimension) for collection in Collection]

    async def successor(self, *, model: str, dimension: int) -> ServerVectorStore:
        if self._successor is None:
            if await self.holds(model=model, dimension=dimension):
                raise own_model(model)
            successor = ServerVectorStore(self._client, prefix=self._prefix)
            await successor.begin(model, dimension)
            self._successor = successor
        return self._successor

    async def begin(self, model: str, dimension: int) -> None:
        """Create the collections of this model without making them live, or go on with those that were begun."""
        self._names = {name: self._prefix + physical_name(name, model, dimension) for name in Collection}
        for collection, physical in self._names.items():
            await self._create(collection, physical, dimension)
        self._dimension = dimension

    async def promote(self) -> None:
        successor = self._successor
        if successor is None:
            raise SetupFailed("there is no successor; call successor() and fill it first")
        operations: list[models.DeleteAliasOperation | models.CreateAliasOperation] = []
        for collection, physical in successor._names.items():  # noqa: SLF001 - of this class
            alias = self._alias(collection)
            operations += [
                models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=alias)),
                models.CreateAliasOperation(
                    create_alias=models.CreateAlias(collection_name=physical, alias_name=alias)
                ),
            ]
        try:
            await attempt("alias", lambda: self._client.update_collection_aliases(operations))
        except StoreUnavailable:  # perhaps it was done, and only the answer is lost
            if [await self._live(collection) for collection in Collection] != [*successor._names.values()]:  # noqa: SLF001
                raise
        self._dimension, self._indexed = successor._dimension, successor._indexed  # noqa: SLF001 - of this class
        self._sizes.clear()
        self._successor = None  # only now: until then it can be tried again
        try:
            await self.drop_successor()
        except PlatformError as error:  # it is done all the same; the next promotion or start removes what is left
            log.warning("former_vectors_left", reason=str(error))

    async def drop_successor(self) -> None:
        self._successor = None
        live = {await self._live(collection) for collection in Collection}
        ours = tuple(f"{self._prefix}{collection.value}__" for collection in Collection)
        for one in (await attempt("collections", self._client.get_collections)).collections:
            if one.name.startswith(ours) and one.name not in live:
                await attempt("drop", lambda one=one: self._client.delete_collection(one.name))

    async def upsert(self, tenant: TenantId, collection: Collection, points: Sequence[Point]) -> None:
        for batch in batches(points, point_bytes):
            rows = [
                server_point(tenant, point, collection=collection.value, dimension=self._dimension) for point in batch
            ]
            await attempt("upsert", lambda rows=rows: self._client.upsert(self._alias(collection), rows, wait=True))

    async def set_payload(
        self, tenant: TenantId, collection: Collection, rows: Sequence[tuple[str, Mapping[str, object]]]
    ) -> None:
        for batch in batches(rows, lambda row: payload_bytes(row[1])):
            operations = [
                models.SetPayloadOperation(
                    set_payload=models.SetPayload(
                        payload=changed_payload(payload),
                        # by filter: a set by id fails where one is unknown
                        filter=server_filter((), [point_key(tenant, id_)]),
                    )
                )
                for id_, payload in batch
            ]
            await attempt(
                "set_payload",
                lambda operations=operations: self._client.batch_update_points(
                    self._alias(collection), operations, wait=True
                ),
            )

    async def delete(self, tenant: TenantId, collection: Collection, ids: Sequence[str]) -> None:
        for start in range(0, len(ids), BATCH_ITEMS):
            keys = models.PointIdsList(points=[point_key(tenant, id_) for id_ in ids[start : start + BATCH_ITEMS]])
            await attempt("delete", lambda keys=keys: self._client.delete(self._alias(collection), keys, wait=True))
        if self._successor:
            await self._successor.delete(tenant, collection, ids)

    async def fetch(
        self, tenant: TenantId, collection: Collection, ids: Sequence[str], *, view: View, with_vectors: bool = False
    ) -> list[StoredPoint]:
        keys = list(dict.fromkeys(point_key(tenant, id_) for id_ in ids))
        by_key: dict[str, StoredPoint] = {}
        for start in range(0, len(keys), BATCH_ITEMS):
            some = keys[start : start + BATCH_ITEMS]
            visible = await self._filter(tenant, collection, view, some)
            found, _ = await self._page(collection, visible, None, len(some), with_vectors)
            by_key |= {str(record.id): _stored(record) for record in found}
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
        visible = await self._filter(tenant, collection, view)
        found, following = await self._page(collection, visible, scroll_cursor(after), limit, with_vectors)
        return [_stored(record) for record in found], following

    async def strays(self, tenant: TenantId, collection: Collection, *, remove: bool = False) -> list[str]:
        visible, after = server_filter(conditions(tenant, View())), None
        found: dict[str, str] = {}
        while True:
            page, after = await self._page(collection, visible, after, SCAN_PAGE, with_vectors=False)
            found |= {str(one.id): id_ for one in page if (id_ := stray_id(tenant, str(one.id), one.payload))}
            if after is None:
                break
        if found and remove:
            keys = models.PointIdsList(points=[*found])
            await attempt("delete", lambda: self._client.delete(self._alias(collection), keys, wait=True))
        return sorted(found.values())

    async def count(self, tenant: TenantId, collection: Collection, *, view: View) -> int:
        return await self._count(collection, await self._filter(tenant, collection, view))

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
        query = as_vector(vector, collection=collection.value, dimension=self._dimension)
        visible = await self._filter(tenant, collection, view)
        exact = await self._is_small(collection, visible)
        params = models.SearchParams(exact=True) if exact else models.SearchParams(hnsw_ef=_HNSW_EF)
        search = self._search(collection, query, DENSE, visible, params, min_score)
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
        visible = await self._filter(tenant, Collection.CHUNKS, view)
        # statistics of what this caller may see
        params = models.SearchParams(idf=models.IdfCorpusParams(corpus=visible))
        search = self._search(Collection.CHUNKS, sparse_vector(terms), BM25, visible, params, min_score)
        complete = self._complete(tenant, Collection.CHUNKS, view)
        return await best(search, complete, limit=limit, min_score=min_score, with_payload=with_payload)

    async def drop_tenant(self, tenant: TenantId) -> None:
        selector = models.FilterSelector(filter=server_filter(conditions(tenant, View())))
        for collection in Collection:
            await attempt(
                "drop_tenant",
                lambda collection=collection: self._client.delete(self._alias(collection), selector, wait=True),
            )
        if self._successor:
            await self._successor.drop_tenant(tenant)

    async def flush(self) -> None:
        """Nothing to do: a server answers a write after its own log has it."""

    async def close(self) -> None:
        await self._client.close()

    def _alias(self, collection: Collection) -> str:
        if not self._names:
            raise SetupFailed("the vector store has no collections yet; call prepare() first")
        return self._names[collection]

    async def _live(self, collection: Collection) -> str | None:
        """The physical collection that the alias names."""
        aliases = (await attempt("aliases", self._client.get_aliases)).aliases
        name = self._prefix + collection.value
        return next((alias.collection_name for alias in aliases if alias.alias_name == name), None)

    async def _check(self, collection: Collection, model: str, dimension: int) -> None:
        live = await self._live(collection)
        if live is None:
            return
        info = await attempt("collection", lambda: self._client.get_collection(live))
        stored = cast("dict[str, models.VectorParams]", info.config.params.vectors)[DENSE].size
        if stored != dimension:
            raise DimensionMismatch(collection=collection.value, stored=stored, configured=dimension)
        expected = self._prefix + physical_name(collection, model, dimension)
        if live != expected:
            raise other_model(collection.value, live, expected)
        self._indexed[collection] = {path.replace('"', "") for path in info.payload_schema}

    async def _create(self, collection: Collection, physical: str, dimension: int) -> None:
        if not await attempt("collection_exists", lambda: self._client.collection_exists(physical)):
            await attempt("create", lambda: self._create_once(collection, physical, dimension))
        for field in KEYWORD_FIELDS:
            schema = models.KeywordIndexParams(
                type=models.KeywordIndexType.KEYWORD, is_tenant=field == "tenant", enable_hnsw=False
            )
            await attempt(
                "index",
                lambda field=field, schema=schema: self._client.create_payload_index(
                    physical, field, field_schema=schema, wait=True
                ),
            )

    async def _create_once(self, collection: Collection, physical: str, dimension: int) -> None:
        sparse = {BM25: models.SparseVectorParams(modifier=models.Modifier.IDF)}
        try:
            await self._client.create_collection(
                physical,
                vectors_config={DENSE: models.VectorParams(size=dimension, distance=models.Distance.COSINE)},
                sparse_vectors_config=sparse if collection is Collection.CHUNKS else None,
            )
        except UnexpectedResponse as error:
            if status(error) != CONFLICT:  # another process made it meanwhile
                raise

    async def _point_alias(self, collection: Collection, physical: str) -> None:
        create = models.CreateAlias(collection_name=physical, alias_name=self._prefix + collection.value)
        operation = models.CreateAliasOperation(create_alias=create)
        await attempt("alias", lambda: self._client.update_collection_aliases([operation]))

    async def _filter(
        self, tenant: TenantId, collection: Collection, view: View, keys: Sequence[str] | None = None
    ) -> models.Filter:
        indexed = self._indexed[collection]
        found = conditions(tenant, view)
        for condition in found:
            schema = range_schema(condition)
            path = condition.key.replace('"', "")
            if schema and path not in indexed and len(indexed) < len(KEYWORD_FIELDS) + RANGE_INDEXES:
                await attempt(
                    "index",
                    lambda condition=condition, schema=schema: self._client.create_payload_index(
                        self._alias(collection), condition.key, field_schema=schema, wait=True
                    ),
                )
                indexed.add(path)
        return server_filter(found, keys)

    async def _page(
        self, collection: Collection, visible: models.Filter, after: str | None, limit: int, with_vectors: bool
    ) -> tuple[list[models.Record], str | None]:
        found, following = await attempt(
            "scroll",
            lambda: self._client.scroll(
                self._alias(collection),
                scroll_filter=visible,
                offset=after,
                limit=limit,
                with_payload=True,
                with_vectors=[DENSE] if with_vectors else False,
            ),
        )
        return found, None if following is None else str(following)

    async def _count(self, collection: Collection, visible: models.Filter | None) -> int:
        answer = await attempt(
            "count", lambda: self._client.count(self._alias(collection), count_filter=visible, exact=True)
        )
        return answer.count

    async def _is_small(self, collection: Collection, visible: models.Filter) -> bool:
        """Whether at most _EXACT_LIMIT points are visible; the collection's size is asked for now and then."""
        counted_at, size = self._sizes.get(collection, (0.0, 0))
        if not counted_at or time.monotonic() - counted_at > _SIZE_AGE_S:
            size = await self._count(collection, None)
            self._sizes[collection] = (time.monotonic(), size)
        return size <= _EXACT_LIMIT or await self._count(collection, visible) <= _EXACT_LIMIT

    def _search(
        self,
        collection: Collection,
        query: list[float] | models.SparseVector,
        using: str,
        visible: models.Filter,
        params: models.SearchParams,
        min_score: float | None,
    ) -> Search:
        floor = threshold(min_score)

        async def search(wanted: int, whole: bool) -> list[models.ScoredPoint]:
            answer = await attempt(
                "query",
                lambda: self._client.query_points(
                    self._alias(collection),
                    query=query,
                    using=using,
                    query_filter=visible,
                    search_params=params,
                    limit=wanted,
                    with_payload=True if whole else ["id"],
                    score_threshold=floor,
                ),
            )
            return answer.points

        return search

    def _complete(self, tenant: TenantId, collection: Collection, view: View) -> Complete:
        async def complete(ids: Sequence[str]) -> dict[str, Mapping[str, object]]:
            return {point.id: point.payload for point in await self.fetch(tenant, collection, ids, view=view)}

        return complete


def _stored(record: models.Record) -> StoredPoint:
    id_, payload = from_payload(record.payload)
    vector = cast("list[float]", record.vector[DENSE]) if isinstance(record.vector, dict) else None
    return StoredPoint(id_, payload, vector)
