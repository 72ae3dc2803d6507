"""Carries out the runs of a queue, in batches, until each is over: done, failed or cancelled."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import replace
from itertools import count

import structlog

from knotwork.domain.catalogue import Run, RunState, RunStep
from knotwork.domain.model import TenantId
from knotwork.errors import PlatformError, StoreUnavailable
from knotwork.ports.ledger import Ledger
from knotwork.services.index import Indexer
from knotwork.services.run_queue import RunQueue

log = structlog.get_logger()

BATCHES_AT_ONCE = 2  # one writes to the graph while the other embeds
MODEL_ATTEMPTS = 3  # at a run whose model fails, each with the model's own retries; then the run fails, and says why
FIRST_RETRY_S, LAST_RETRY_S = 0.5, 30.0


class RunWorker:
    """Starts what the queue gives, tries again what a store or a model could not do for now, and records the rest."""

    def __init__(self, queue: RunQueue, ledger: Ledger, indexer: Indexer) -> None:
        self._queue, self._ledger, self._indexer = queue, ledger, indexer
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopping = False
        self.ended: Counter[RunState] = Counter()
        self.failed_chunks = 0

    async def run(self) -> None:
        """Carry out runs as they come, until cancelled."""
        self._stopping = False
        while True:
            await self._queue.until(lambda: len(self._tasks) < BATCHES_AT_ONCE and self._queue.has_next)
            tenant, runs = self._queue.take_batch()
            self._spawn(self._carry_out(tenant, runs))

    async def stop(self) -> None:
        """Stop at once what is under way; it is in the ledger as it was."""
        self._stopping = True
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _carry_out(self, tenant: TenantId, runs: Sequence[Run]) -> None:
        try:
            await self._carry_out_together(tenant, runs)
        finally:
            self._queue.release(tenant, runs)

    async def _carry_out_together(self, tenant: TenantId, runs: Sequence[Run]) -> None:
        """Carry runs out until each is over. One that fails must not fail, or hold up, its neighbours."""
        for attempt in count(1):
            try:
                over = await self._index_alone(tenant, runs)
            except StoreUnavailable as error:  # every run needs it, so all wait
                await self._pause(runs, error, attempt)
            except Exception as error:  # noqa: BLE001 - whatever it is, the run is recorded as failed and named
                if len(runs) > 1:
                    for run in runs:
                        await self._carry_out_together(tenant, [run])
                    return
                retryable = isinstance(error, PlatformError) and error.retryable
                if not retryable or attempt == MODEL_ATTEMPTS:
                    await self._fail(tenant, runs[0], error)
                    return
                await self._pause(runs, error, attempt)
            else:
                for run in over:
                    self.close(run)
                return

    async def _index_alone(self, tenant: TenantId, runs: Sequence[Run]) -> list[Run]:
        """Carry out those that no other process has carried out; the runs as they are, each over."""
        over: list[Run] = []
        async with self._ledger.alone(tenant, runs) as due:
            if mine := [run for run in runs if run.id in due]:
                over = await self._indexer.index(tenant, mine, self._queue)
        for run in (run for run in runs if run.id not in due):
            stored = await self._ledger.run(tenant, run.id)
            if stored is None:  # its tenant is gone
                self._queue.close(run.id)
            else:
                over.append(stored)
        return over

    async def _pause(self, runs: Sequence[Run], error: Exception, attempt: int) -> None:
        pause_s = min(FIRST_RETRY_S * 2 ** (attempt - 1), LAST_RETRY_S)
        log.warning("runs_wait", runs=len(runs), reason=str(error), retry_in_s=pause_s)
        await asyncio.sleep(pause_s)

    async def _fail(self, tenant: TenantId, run: Run, error: Exception) -> None:
        code = error.code if isinstance(error, PlatformError) else PlatformError.code
        log.error("run_failed", run=run.id, source=run.ref.id, code=code, exc_info=error)
        failed = replace(run, step=RunStep.DONE, state=RunState.FAILED, error_code=code, error=str(error))
        await self._surely(lambda: self._indexer.discard(tenant, run))
        await self._surely(lambda: self._ledger.record(tenant, [failed]))
        self.close(failed)

    async def _surely(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do it however long a store is away: a run that is over only in memory would come again."""
        for attempt in count(1):
            try:
                await work()
            except StoreUnavailable as error:
                await self._pause((), error, attempt)
            else:
                return

    def close(self, run: Run) -> None:
        self.ended[run.state] += 1
        self.failed_chunks += run.result.graph.failed_chunks if run.result else 0
        self._queue.close(run.id)

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._on_end)

    def _on_end(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not self._stopping:
            self._queue.tell_soon()
