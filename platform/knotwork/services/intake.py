"""The way in: requests are recorded before they are answered, then carried out in order of acceptance per source."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import structlog

from knotwork.domain.catalogue import AcceptedRun, Run, RunKind, RunState, RunStep, SourceChange
from knotwork.domain.inputs import text_hash
from knotwork.domain.model import ParsedText, Source, SourceRef, Subject, TenantId
from knotwork.errors import NotFound, PlatformError, StoreUnavailable
from knotwork.ports.catalogue import Catalogue
from knotwork.ports.ledger import Ledger
from knotwork.ports.vector_store import View
from knotwork.run_ids import new_run_id
from knotwork.services.index import Indexer, changed_source

log = structlog.get_logger()

BATCH_RUNS = 64  # sources indexed together: shares transactions, flushes and embedding batches
BATCH_CHARS = 400_000  # text indexed together, at most, unless one source is longer: bounds memory
BATCHES_AT_ONCE = 2  # one writes to the graph while the other embeds
ACCEPT_TOGETHER = 100  # requests recorded in one transaction
FIRST_RETRY_S, LAST_RETRY_S = 0.5, 30.0
OVER = (RunState.DONE, RunState.FAILED)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run has come; chunks of the step under way."""

    run: Run
    chunks_done: int = 0
    chunks_total: int = 0


@dataclass(frozen=True, slots=True)
class RunCounts:
    """Runs of this process: how many wait and run now, how many ended since it started, and chunks that failed."""

    queued: int
    running: int
    done: int
    failed: int
    failed_chunks: int


class Intake:
    """Accepts requests about sources and sees them through; one a process."""

    def __init__(self, *, catalogue: Catalogue, ledger: Ledger, indexer: Indexer) -> None:
        self._catalogue, self._ledger, self._indexer = catalogue, ledger, indexer
        self._open: dict[str, tuple[TenantId, Progress]] = {}  # every run of this process that is not over
        self._queue: dict[str, tuple[TenantId, Run]] = {}  # of those, the ones that wait, in order of acceptance
        self._busy: set[tuple[TenantId, SourceRef]] = set()
        self._held: Counter[TenantId] = Counter()  # by how many callers of `hold`
        self._held_all = 0  # by how many callers of `hold_all`
        self._accepting = asyncio.Lock()
        self._to_accept: list[tuple[TenantId, AcceptedRun, asyncio.Future[None]]] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Condition()
        self._wake = asyncio.Event()
        self._batches = 0
        self._stopping = False
        self._ended: Counter[RunState] = Counter()
        self._failed_chunks = 0

    async def start(self) -> int:
        """Take up the runs that an earlier process left unfinished; how many there are."""
        self._stopping = False
        after: str | None = None
        while page := await self._ledger.unfinished(after=after):
            for tenant, run in page:
                self._enqueue(tenant, run)
            after = page[-1][1].id
        self._spawn(self._dispatch())
        self._spawn(self._accept_in_groups())
        return len(self._queue)

    async def stop(self) -> None:
        """Stop at once; what is unfinished is in the ledger and is taken up by the next start."""
        self._stopping = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def put(self, tenant: TenantId, source: Source, parsed: ParsedText) -> Run:
        """Accept a source with its text, in place of what it was; recorded when this returns.

        Raises:
            UnknownTenant: there is no such tenant.
        """
        source = replace(
            source, content_hash=text_hash(parsed), title=parsed.title, size_chars=len(parsed.text), chunks=0
        )
        run = _new_run(RunKind.INDEX, source.ref, source=source, seen_by=source.auth_subjects)
        return await self._accept(tenant, run, parsed)

    async def update(self, tenant: TenantId, ref: SourceRef, change: SourceChange) -> Run:
        """Accept a change of a source's readers, metadata or graph flag.

        Raises:
            NotFound: there is no such source, nor one on its way.
        """
        seen_by = await self._readers(tenant, ref)
        return await self._accept(tenant, _new_run(RunKind.UPDATE, ref, change=change, seen_by=seen_by))

    async def delete(self, tenant: TenantId, ref: SourceRef) -> Run:
        """Accept that a source goes, with all that only it said.

        Raises:
            NotFound: there is no such source, nor one on its way.
        """
        return await self._accept(tenant, _new_run(RunKind.DELETE, ref, seen_by=await self._readers(tenant, ref)))

    async def refresh(self, tenant: TenantId) -> int:
        """Bring the graph of every source in line with the tenant's settings; how many sources were queued."""
        count, after = 0, None
        while page := await self._catalogue.sources(tenant, view=View(), after=after, limit=ACCEPT_TOGETHER):
            await self.look_again(tenant, page)
            count, after = count + len(page), page[-1].ref
        return count

    async def look_again(self, tenant: TenantId, sources: Sequence[Source]) -> list[Run]:
        """Accept that these stored sources are indexed again: whatever of them is missing, failed or stale is done.

        What is there already costs nothing. A source for which a run waits is passed over, as that run does it.
        """
        waiting = {run.ref for owner, run in self._queue.values() if owner == tenant}
        runs = [
            _new_run(RunKind.UPDATE, source.ref, change=SourceChange(), seen_by=source.auth_subjects)
            for source in sources
            if source.ref not in waiting
        ]
        return list(await asyncio.gather(*(self._accept(tenant, run) for run in runs)))

    async def drop(self, tenant: TenantId) -> None:
        """Forget the tenant's runs that wait, and return when those under way are over."""
        for run_id, (owner, _) in list(self._queue.items()):
            if owner == tenant:
                del self._queue[run_id], self._open[run_id]
        await self._tell()  # those who watch a run that is gone
        await self.settle(tenant)

    async def settle(self, tenant: TenantId) -> None:
        """Return when no run of the tenant is under way or waiting."""
        async with self._changed:
            await self._changed.wait_for(lambda: not any(owner == tenant for owner, _ in self._open.values()))

    @asynccontextmanager
    async def hold(self, tenant: TenantId) -> AsyncGenerator[None]:
        """Have no run of the tenant under way inside the block: those that come are accepted, and wait."""
        self._held[tenant] += 1
        try:
            async with self._changed:
                await self._changed.wait_for(lambda: not any(owner == tenant for owner, _ in self._busy))
            yield
        finally:
            self._held[tenant] -= 1
            await self._tell()

    @asynccontextmanager
    async def hold_all(self) -> AsyncGenerator[None]:
        """Have no run of any tenant under way inside the block, and none accepted: requests wait to be recorded."""
        self._held_all += 1
        try:
            async with self._accepting:
                async with self._changed:
                    await self._changed.wait_for(lambda: not self._busy)
                yield
        finally:
            self._held_all -= 1
            await self._tell()

    @property
    def counts(self) -> RunCounts:
        """Runs of this process by state."""
        return RunCounts(
            queued=len(self._queue),
            running=len(self._open) - len(self._queue),
            done=self._ended[RunState.DONE],
            failed=self._ended[RunState.FAILED],
            failed_chunks=self._failed_chunks,
        )

    async def expected(self, tenant: TenantId, ref: SourceRef) -> Source | None:
        """The source as it will be once every request accepted so far is carried out; None: there will be none."""
        source = await self._catalogue.source(tenant, ref, view=View())
        under_way = [one.run for owner, one in self._open.values() if owner == tenant and one.run.ref == ref]
        for run in sorted(under_way, key=lambda run: run.id):
            if run.kind is RunKind.DELETE:
                source = None
            elif run.kind is RunKind.INDEX:
                source = run.source
            elif source is not None:
                source = changed_source(source, run)
        return source

    async def watch(self, tenant: TenantId, run_id: str) -> AsyncGenerator[Progress]:
        """The run as it is, then each change, until it is over.

        Raises:
            NotFound: the tenant has no such run.
        """
        seen: Progress | None = None
        while True:
            owner, progress = self._open.get(run_id, (tenant, None))
            if progress is None:
                break
            if owner != tenant:
                raise NotFound("job", run_id)
            if progress != seen:
                seen = progress
                yield progress
            async with self._changed:
                await self._changed.wait_for(lambda: self._open.get(run_id, (tenant, None))[1] != seen)  # noqa: B023 - called before the loop goes on
        run = await self._ledger.run(tenant, run_id)
        if run is None:
            raise NotFound("job", run_id)
        yield Progress(run, seen.chunks_done if seen else 0, seen.chunks_total if seen else 0)

    async def wait(self, tenant: TenantId, run_id: str) -> Run:
        """The run once it is over.

        Raises:
            NotFound: the tenant has no such run.
        """
        async for progress in self.watch(tenant, run_id):
            if progress.run.state in OVER:
                return progress.run
        raise NotFound("job", run_id)

    async def _readers(self, tenant: TenantId, ref: SourceRef) -> tuple[Subject, ...]:
        source = await self.expected(tenant, ref)
        if source is None:
            raise NotFound("source", ref.id)
        return source.auth_subjects

    async def _accept(self, tenant: TenantId, run: Run, parsed: ParsedText | None = None) -> Run:
        recorded: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._to_accept.append((tenant, AcceptedRun(run, parsed), recorded))
        self._wake.set()
        await recorded
        return run

    async def _accept_in_groups(self) -> None:
        """Record what came in meanwhile in one transaction a tenant: many small requests cost little each."""
        while True:
            if not self._to_accept:
                self._wake.clear()
                await self._wake.wait()
            group, self._to_accept = self._to_accept[:ACCEPT_TOGETHER], self._to_accept[ACCEPT_TOGETHER:]
            by_tenant: defaultdict[TenantId, list[tuple[AcceptedRun, asyncio.Future[None]]]] = defaultdict(list)
            for tenant, accepted, recorded in group:
                by_tenant[tenant].append((accepted, recorded))
            for tenant, members in by_tenant.items():
                try:
                    async with self._accepting:
                        await self._ledger.accept(tenant, [accepted for accepted, _ in members])
                except Exception as error:  # noqa: BLE001 - whatever it is, its callers get it and the next are served
                    for _, recorded in members:
                        if not recorded.done():
                            recorded.set_exception(error)
                    continue
                for accepted, recorded in members:
                    self._enqueue(tenant, accepted.run)
                    if not recorded.done():  # a caller that went away is served all the same
                        recorded.set_result(None)
            await self._tell()

    def _enqueue(self, tenant: TenantId, run: Run) -> None:
        self._open[run.id] = (tenant, Progress(run))
        self._queue[run.id] = (tenant, run)

    async def _dispatch(self) -> None:
        while True:
            async with self._changed:
                await self._changed.wait_for(lambda: self._batches < BATCHES_AT_ONCE and bool(self._next_batch()))
            tenant, runs = self._take_batch()
            self._batches += 1
            self._spawn(self._carry_out(tenant, runs))

    def _next_batch(self) -> list[tuple[TenantId, Run]]:
        """The oldest run that can start, and younger ones of its tenant; a source's runs keep their order."""
        batch: list[tuple[TenantId, Run]] = []
        blocked = set(self._busy)
        chars = 0
        for tenant, run in self._queue.values():
            if batch and (tenant != batch[0][0] or (tenant, run.ref) in blocked):
                blocked.add((tenant, run.ref))
                continue
            if (tenant, run.ref) in blocked or self._held[tenant] or self._held_all:
                continue
            size = run.source.size_chars if run.source else 0
            if batch and chars + size > BATCH_CHARS:
                break
            batch.append((tenant, run))
            blocked.add((tenant, run.ref))
            chars += size
            if len(batch) == BATCH_RUNS:
                break
        return batch

    def _take_batch(self) -> tuple[TenantId, list[Run]]:
        batch = self._next_batch()
        for tenant, run in batch:
            del self._queue[run.id]
            self._busy.add((tenant, run.ref))
        return batch[0][0], [run for _, run in batch]

    async def _carry_out(self, tenant: TenantId, runs: Sequence[Run]) -> None:
        try:
            await self._carry_out_together(tenant, runs)
        finally:
            self._batches -= 1
            self._busy -= {(tenant, run.ref) for run in runs}
            if not self._stopping:
                await self._tell()

    async def _carry_out_together(self, tenant: TenantId, runs: Sequence[Run]) -> None:
        pause_s = FIRST_RETRY_S
        while True:
            try:
                for run in await self._indexer.index(tenant, runs, self._report):
                    self._count(run)
                    del self._open[run.id]
            except Exception as error:  # noqa: BLE001 - whatever it is, the run is recorded as failed and named
                if isinstance(error, PlatformError) and error.retryable:
                    log.warning("runs_wait", runs=len(runs), reason=str(error), retry_in_s=pause_s)
                    await asyncio.sleep(pause_s)
                    pause_s = min(pause_s * 2, LAST_RETRY_S)
                    continue
                if len(runs) == 1:
                    await self._fail(tenant, runs[0], error)
                else:  # one run must not fail its neighbours
                    for run in runs:
                        await self._carry_out_together(tenant, [run])
            return

    async def _fail(self, tenant: TenantId, run: Run, error: Exception) -> None:
        code = error.code if isinstance(error, PlatformError) else PlatformError.code
        log.error("run_failed", run=run.id, source=run.ref.id, code=code, exc_info=error)
        failed = replace(run, step=RunStep.DONE, state=RunState.FAILED, error_code=code, error=str(error))
        await self._record(tenant, failed)
        self._count(failed)
        del self._open[run.id]

    async def _record(self, tenant: TenantId, run: Run) -> None:
        """Record a run, however long its store is away: a run that is over only in memory would come again."""
        pause_s = FIRST_RETRY_S
        while True:
            try:
                return await self._ledger.record(tenant, [run])
            except StoreUnavailable:
                await asyncio.sleep(pause_s)
                pause_s = min(pause_s * 2, LAST_RETRY_S)

    def _count(self, run: Run) -> None:
        self._ended[run.state] += 1
        self._failed_chunks += run.result.graph.failed_chunks if run.result else 0

    def _report(self, run: Run, done: int, total: int) -> None:
        if run.id in self._open:
            self._open[run.id] = (self._open[run.id][0], Progress(replace(run, state=RunState.RUNNING), done, total))
            self._spawn(self._tell())

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _new_run(
    kind: RunKind,
    ref: SourceRef,
    *,
    seen_by: tuple[Subject, ...],
    source: Source | None = None,
    change: SourceChange | None = None,
) -> Run:
    return Run(new_run_id(), kind, ref, accepted_at=time.time(), source=source, change=change, seen_by=seen_by)
