"""One shard of Qdrant Edge and the thread that owns it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from qdrant_edge import (
    EdgeShard,
    Point,
    QueryBatchRequest,
    QueryRequest,
    ScoredPoint,
    ScrollRequest,
    UpdateOperation,
)

from knotwork.errors import StoreUnavailable

if TYPE_CHECKING:
    from qdrant_edge import PointId  # its stubs alone have the name

T = TypeVar("T")
_COPY = 500  # points copied together; queries run between two
_BATCH = 32  # queries answered by one call, at most; writes wait no longer than that


class OwnedShard:
    """A shard whose every call runs on one thread of its own, in the order of asking.

    Edge's calls hold the interpreter, so more threads answer no more queries; queries that wait for the thread are
    answered by one `query_batch`: eight under one filter took 7.9 ms where one took 3.6.
    """

    def __init__(self, name: str) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"edge-{name}")
        self._waiting: deque[tuple[QueryRequest, asyncio.Future[list[ScoredPoint]]]] = deque()
        self._shard: EdgeShard | None = None
        self._unflushed = False
        self._writing = asyncio.Lock()  # held by a write, or by a rewrite from its first page to its last
        self.indexed: set[str] = set()  # fields with an index, as JSON paths without quotes

    async def open(self, load: Callable[[], EdgeShard]) -> None:
        def work() -> None:
            self._shard = load()
            self._look(self._shard)

        await self._call("open", work)

    async def read(self, operation: str, work: Callable[[EdgeShard], T]) -> T:
        """Run `work` on the shard."""
        return await self._call(operation, lambda: work(self._opened))

    async def write(self, operation: str, work: Callable[[EdgeShard], None]) -> None:
        """Run `work`, which changes the shard."""

        def change() -> None:
            self._unflushed = True
            work(self._opened)
            self._look(self._opened)

        async with self._writing:
            await self._call(operation, change)

    async def rewrite(self, create: Callable[[], EdgeShard], go_live: Callable[[], None]) -> None:
        """Copy every point into the shard that `create` makes, and go on with that one.

        `go_live` makes the copy the one that the next start loads; it is called once the copy is on disk. Queries
        between two pages are answered by the old shard, writes wait.
        """
        async with self._writing:
            copy = await self._call("compact", create)
            try:
                after: PointId | None = None
                while True:
                    request = ScrollRequest(offset=after, limit=_COPY, with_payload=True, with_vector=True)
                    after = await self._call("compact", lambda request=request: _copied(self._opened, copy, request))
                    if after is None:
                        break
                await self._call("compact", copy.flush)
            except BaseException:
                await asyncio.shield(self._call("compact", copy.close))
                raise

            def swap() -> None:
                go_live()
                old, self._shard = self._opened, copy
                self._unflushed = False
                self._look(copy)
                old.close()

            await self._call("compact", swap)

    async def query(self, request: QueryRequest) -> list[ScoredPoint]:
        """Answer a query, together with others that wait."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[list[ScoredPoint]] = loop.create_future()
        self._waiting.append((request, answer))
        # One call for each query: a call that finds nothing waiting was answered for by an earlier one.
        self._thread.submit(self._answer_waiting, loop)
        with edge_errors("query"):
            return await answer

    async def flush(self) -> None:
        """Return once every earlier write is on disk."""

        def work() -> None:
            if self._unflushed:
                self._opened.flush()
                self._unflushed = False

        await self._call("flush", work)

    async def close(self) -> None:
        def work() -> None:
            shard, self._shard = self._shard, None
            if shard is not None:
                try:
                    shard.flush()
                finally:
                    shard.close()

        try:
            await self._call("close", work)
        finally:
            self._thread.shutdown(wait=False)

    @property
    def _opened(self) -> EdgeShard:
        if self._shard is None:
            raise StoreUnavailable("Qdrant Edge", "closed")
        return self._shard

    def _look(self, shard: EdgeShard) -> None:
        self.indexed = {path.replace('"', "") for path in shard.info().payload_schema}

    async def _call(self, operation: str, work: Callable[[], T]) -> T:
        with edge_errors(operation):
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _answer_waiting(self, loop: asyncio.AbstractEventLoop) -> None:
        """On the owner's thread: answer what waits, at most a batch of it."""
        taken = [self._waiting.popleft() for _ in range(min(len(self._waiting), _BATCH))]
        if not taken:
            return
        answers = self._answers([request for request, _ in taken])
        loop.call_soon_threadsafe(_settle, [future for _, future in taken], answers)

    def _answers(self, requests: list[QueryRequest]) -> list[list[ScoredPoint] | Exception]:
        try:
            if len(requests) == 1:
                return [self._opened.query(requests[0])]
            return [*self._opened.query_batch(QueryBatchRequest(requests))]
        except Exception as error:  # noqa: BLE001 - whatever it is, it belongs to the callers who wait
            if len(requests) == 1:
                return [error]
            return [answer for request in requests for answer in self._answers([request])]  # only the culprit fails


@contextmanager
def edge_errors(operation: str) -> Generator[None]:
    """Turn the engine's errors into ours."""
    try:
        yield
    except Exception as error:
        # Edge raises plain `Exception` for all that goes wrong inside it (disk full, files damaged); classes of
        # Python's own are mistakes of ours and stay what they are.
        if type(error) is not Exception:
            raise
        raise StoreUnavailable("Qdrant Edge", f"{operation}: {error}") from error


def _copied(source: EdgeShard, copy: EdgeShard, request: ScrollRequest) -> PointId | None:
    """Copy a page of points, vectors and all; where the next one starts."""
    records, following = source.scroll(request)
    points = [Point(record.id, record.vector or {}, record.payload) for record in records]
    if points:
        copy.update(UpdateOperation.upsert_points(points))
    return following


def _settle(futures: list[asyncio.Future[list[ScoredPoint]]], answers: list[list[ScoredPoint] | Exception]) -> None:
    for future, answer in zip(futures, answers, strict=True):
        if future.done():  # its caller was cancelled
            continue
        if isinstance(answer, Exception):
            future.set_exception(answer)
        else:
            future.set_result(answer)
