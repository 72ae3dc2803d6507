"""The way in: requests are recorded before they are answered, then carried out in order of acceptance per source."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace

from knotwork.domain.catalogue import OVER, Run, RunKind, RunState, SourceChange
from knotwork.domain.inputs import text_hash
from knotwork.domain.model import ParsedText, Source, SourceRef, Subject, TenantId
from knotwork.errors import NotFound, StoreUnavailable
from knotwork.ports.catalogue import Catalogue
from knotwork.ports.inbox import Inbox
from knotwork.ports.ledger import Ledger
from knotwork.ports.vector_store import View
from knotwork.run_ids import new_run_id
from knotwork.services.acceptance import ACCEPT_TOGETHER, Acceptance
from knotwork.services.access import answer_soon
from knotwork.services.index import Indexer, changed_source
from knotwork.services.run_queue import Progress, RunQueue
from knotwork.services.run_worker import RunWorker

LOOK_UP_S = 5.0  # how long the catalogue may take to tell of a source before it counts as away


@dataclass(frozen=True, slots=True)
class RunCounts:
    """Runs of this process: how many wait and run now, how many ended since it started, and chunks that failed."""

    queued: int
    running: int
    done: int
    failed: int
    cancelled: int
    failed_chunks: int


class Intake:
    """Accepts requests about sources and sees them through; one a process."""

    def __init__(self, *, catalogue: Catalogue, ledger: Ledger, indexer: Indexer, inbox: Inbox | None = None) -> None:
        """`inbox` keeps requests while the ledger is away; None: they are refused then."""
        self._catalogue, self._ledger = catalogue, ledger
        self._queue = RunQueue()
        self._worker = RunWorker(self._queue, ledger, indexer)
        self._acceptance = Acceptance(ledger=ledger, inbox=inbox, queue=self._queue)
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> int:
        """Take up the runs that an earlier process left unfinished; how many there are."""
        for tenant in await self._ledger.paused():
            self._queue.pause(tenant, paused=True)
        after: str | None = None
        while page := await self._ledger.unfinished(after=after):
            for tenant, run in page:
                self._queue.take_up(tenant, run)
            after = page[-1][1].id
        await self._acceptance.load()
        for work in (self._worker.run(), self._acceptance.run(), self._acceptance.empty_inbox()):
            self._spawn(work)
        for tenant in await self._catalogue.settings_due():
            await self.refresh(tenant)
        return self._queue.waiting

    async def stop(self) -> None:
        """Stop at once; what is unfinished is in the ledger and is taken up by the next start."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._worker.stop()

    # Requests

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
            NotFound: there is no such source, nor one on its way. While the store is away, the run says so instead.
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
        settings = await self._catalogue.tenant(tenant)
        count, after = 0, None
        while page := await self._catalogue.sources(tenant, view=View(), after=after, limit=ACCEPT_TOGETHER):
            await self.look_again(tenant, page)
            count, after = count + len(page), page[-1].ref
        await self._catalogue.settings_followed(tenant, settings)
        return count

    async def look_again(self, tenant: TenantId, sources: Sequence[Source]) -> list[Run]:
        """Accept that these stored sources are indexed again: whatever of them is missing, failed or stale is done.

        What is there already costs nothing. A source for which a run waits is passed over, as that run does it.
        """
        waiting = self._queue.waiting_refs(tenant)
        runs = [
            _new_run(RunKind.UPDATE, source.ref, change=SourceChange(), seen_by=source.auth_subjects)
            for source in sources
            if source.ref not in waiting
        ]
        return list(await asyncio.gather(*(self._accept(tenant, run) for run in runs)))

    # Runs that are not over

    async def cancel(self, tenant: TenantId, run_id: str) -> Run:
        """Have a run not started, or stopped at its next step; the run as it is then.

        One that waits is CANCELLED when this returns, and changed nothing. One that is under way is CANCELLING: before
        it changed anything of the stored source, what it prepared is taken back; after that its text is completed and
        the chunks not yet read are listed as failed, with the code `cancelled`. Deleting goes on. A run that is over
        stays as it is.

        Raises:
            NotFound: the tenant has no such run.
        """
        progress = self._queue.progress(tenant, run_id)
        if progress is None:
            run = await self._ledger.run(tenant, run_id)
            if run is None:
                raise NotFound("job", run_id)
            return run
        if await self._acceptance.withdraw(tenant, progress.run):
            cancelled = replace(progress.run, state=RunState.CANCELLED)
            self._worker.close(cancelled)
            await self._queue.tell()
            return cancelled
        if not self._queue.has_begun(run_id) and self._queue.withdraw(run_id):
            cancelled = replace(progress.run, state=RunState.CANCELLED)
            try:
                async with self._acceptance.alone():
                    await self._ledger.record(tenant, [cancelled])
            except BaseException:
                self._queue.restore(tenant, progress.run)
                raise
            self._worker.close(cancelled)
            await self._queue.tell()
            return cancelled
        self._queue.cancel(run_id)  # first: the worker may be about to look
        async with self._acceptance.alone():
            await self._ledger.record(tenant, [replace(progress.run, state=RunState.CANCELLING)])
        await self._queue.tell()
        latest = self._queue.progress(tenant, run_id)
        return latest.run if latest else await self.cancel(tenant, run_id)  # over meanwhile

    async def pause(self, tenant: TenantId, *, paused: bool) -> None:
        """Start no run of the tenant until it is resumed, also after a restart; runs under way are finished.

        Requests are accepted all the same.

        Raises:
            UnknownTenant: there is no such tenant.
        """
        async with self._acceptance.alone():
            await self._ledger.set_paused(tenant, paused=paused)
        self._queue.pause(tenant, paused=paused)
        await self._queue.tell()

    def is_paused(self, tenant: TenantId) -> bool:
        """Whether no run of the tenant is started."""
        return self._queue.is_paused(tenant)

    def under_way(self, tenant: TenantId, run_id: str) -> Run | None:
        """A run of this process that is not over, as it is now; known also while the ledger is away."""
        progress = self._queue.progress(tenant, run_id)
        return progress.run if progress else None

    async def drop(self, tenant: TenantId) -> None:
        """Forget the tenant's runs that wait, and return when those under way are over."""
        self._queue.drop(tenant)
        await self._queue.tell()  # those who watch a run that is gone
        await self.settle(tenant)

    async def settle(self, tenant: TenantId) -> None:
        """Return when no run of the tenant is under way or waiting."""
        await self._queue.settled(tenant)

    def hold(self, tenant: TenantId) -> AbstractAsyncContextManager[None]:
        """Have no run of the tenant under way inside the block: those that come are accepted, and wait."""
        return self._queue.hold(tenant)

    @asynccontextmanager
    async def hold_all(self) -> AsyncGenerator[None]:
        """Have no run under way and no request recorded inside the block: those that come wait to be accepted."""
        async with self._queue.hold(None), self._acceptance.alone():
            yield

    @property
    def counts(self) -> RunCounts:
        """Runs of this process by state."""
        ended = self._worker.ended
        return RunCounts(
            queued=self._queue.waiting,
            running=self._queue.under_way,
            done=ended[RunState.DONE],
            failed=ended[RunState.FAILED],
            cancelled=ended[RunState.CANCELLED],
            failed_chunks=self._worker.failed_chunks,
        )

    async def expected(self, tenant: TenantId, ref: SourceRef) -> Source | None:
        """The source as it will be once every request accepted so far is carried out; None: there will be none.

        Raises:
            StoreUnavailable: the catalogue is away.
        """
        if self._acceptance.is_behind:  # each caller would wait to hear the same
            raise StoreUnavailable("Neo4j", "it was away when last asked")
        source = await answer_soon(self._catalogue.source(tenant, ref, view=View()), within_s=LOOK_UP_S)
        for run in self._queue.runs_of(tenant, ref):
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
        while (progress := self._queue.progress(tenant, run_id)) is not None:
            if progress != seen:
                seen = progress
                yield progress
            await self._queue.until(lambda: self._queue.progress(tenant, run_id) != seen)  # noqa: B023 - called before the loop goes on
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
        """Who may read the source. Nobody knows while the store is away: then the run is for unrestricted callers."""
        try:
            source = await self.expected(tenant, ref)
        except StoreUnavailable:
            if not self._acceptance.has_inbox:
                raise
            return ()
        if source is None:
            raise NotFound("source", ref.id)
        return source.auth_subjects

    async def _accept(self, tenant: TenantId, run: Run, parsed: ParsedText | None = None) -> Run:
        await self._acceptance.accept(tenant, run, parsed)
        return run

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
