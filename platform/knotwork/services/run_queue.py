"""The runs of this process that are not over: which wait, which are under way, and which may start next."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from knotwork.domain.catalogue import Run, RunState
from knotwork.domain.model import SourceRef, TenantId

BATCH_RUNS = 64  # sources indexed together: shares transactions, flushes and embedding batches
BATCH_CHARS = 400_000  # text indexed together, at most, unless one source is longer: bounds memory


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run has come; chunks of the step under way."""

    run: Run
    chunks_done: int = 0
    chunks_total: int = 0


class RunQueue:
    """Open runs in order of acceptance. Runs of one source keep their order, whatever is held, paused or cancelled."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[TenantId, Progress]] = {}
        self._waiting: dict[str, tuple[TenantId, Run]] = {}  # of those, the ones that may be started
        self._started: set[str] = set()
        self._busy: set[tuple[TenantId, SourceRef]] = set()
        self._held: Counter[TenantId | None] = Counter()  # by how many callers of `hold`; None: every tenant
        self._paused: set[TenantId] = set()
        self._cancelled: set[str] = set()
        self._begun: set[str] = set()
        self._tells: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Condition()

    # What is there

    @property
    def waiting(self) -> int:
        """How many runs are open and not started."""
        return len(self._open) - len(self._started)

    @property
    def under_way(self) -> int:
        return len(self._started)

    def progress(self, tenant: TenantId, run_id: str) -> Progress | None:
        """How far an open run of this tenant has come."""
        owner, progress = self._open.get(run_id, (tenant, None))
        return progress if owner == tenant else None

    def runs_of(self, tenant: TenantId, ref: SourceRef) -> list[Run]:
        """The open runs of a source, in order of acceptance."""
        runs = [one.run for owner, one in self._open.values() if owner == tenant and one.run.ref == ref]
        return sorted(runs, key=lambda run: run.id)

    def waiting_refs(self, tenant: TenantId) -> set[SourceRef]:
        """The sources of this tenant that have a run which is not started."""
        return {one.run.ref for id_, (owner, one) in self._open.items() if owner == tenant and id_ not in self._started}

    def is_cancelled(self, run_id: str) -> bool:
        return run_id in self._cancelled

    def has_begun(self, run_id: str) -> bool:
        return run_id in self._begun

    def is_paused(self, tenant: TenantId) -> bool:
        return tenant in self._paused

    # What comes and goes

    def announce(self, tenant: TenantId, run: Run) -> None:
        """A run that is accepted, and may not be started yet."""
        self._open[run.id] = (tenant, Progress(run))

    def take_up(self, tenant: TenantId, run: Run) -> None:
        """A run that an earlier process left, and may have begun."""
        self.add(tenant, run)
        self._begun.add(run.id)

    def add(self, tenant: TenantId, run: Run) -> None:
        """A run that may be started; it comes after those added before."""
        self._open[run.id] = (tenant, Progress(run))
        self._waiting[run.id] = (tenant, run)
        if run.state is RunState.CANCELLING:
            self._cancelled.add(run.id)

    def withdraw(self, run_id: str) -> bool:
        """See that a run is not started; False when it is under way, or not there to start."""
        return self._waiting.pop(run_id, None) is not None

    def restore(self, tenant: TenantId, run: Run) -> None:
        """Take a withdrawal back: the run waits again, in its old place."""
        self._waiting[run.id] = (tenant, run)
        self._waiting = dict(sorted(self._waiting.items()))

    def cancel(self, run_id: str) -> None:
        """Mark an open run, for whoever carries it out."""
        self._cancelled.add(run_id)
        tenant, progress = self._open[run_id]
        self._open[run_id] = (tenant, replace(progress, run=replace(progress.run, state=RunState.CANCELLING)))

    def report(self, run: Run, done: int, total: int) -> None:
        """A run that is under way has come this far."""
        if run.id in self._open:
            state = RunState.CANCELLING if run.id in self._cancelled else RunState.RUNNING
            self._open[run.id] = (self._open[run.id][0], Progress(replace(run, state=state), done, total))
            self.tell_soon()

    def begin(self, run_id: str) -> None:
        """A run changes its source from here on; see RunControl."""
        self._begun.add(run_id)

    def close(self, run_id: str) -> None:
        """A run is over, or gone."""
        self._open.pop(run_id, None)
        self._waiting.pop(run_id, None)
        self._started.discard(run_id)
        self._cancelled.discard(run_id)
        self._begun.discard(run_id)

    def drop(self, tenant: TenantId) -> None:
        """Forget the tenant's runs that are not started, and that it is paused."""
        for run_id, (owner, _) in list(self._open.items()):
            if owner == tenant and run_id not in self._started:
                self.close(run_id)
        self._paused.discard(tenant)

    def pause(self, tenant: TenantId, *, paused: bool) -> None:
        """Start no run of the tenant, or start them again."""
        if paused:
            self._paused.add(tenant)
        else:
            self._paused.discard(tenant)

    # What starts next

    @property
    def has_next(self) -> bool:
        return bool(self._next_batch())

    def take_batch(self) -> tuple[TenantId, list[Run]]:
        """The runs to be carried out next, now under way; there must be some. `release` frees their sources."""
        batch = self._next_batch()
        for tenant, run in batch:
            del self._waiting[run.id]
            self._started.add(run.id)
            self._busy.add((tenant, run.ref))
        return batch[0][0], [run for _, run in batch]

    def release(self, tenant: TenantId, runs: Sequence[Run]) -> None:
        """Later runs of these runs' sources may start."""
        self._busy -= {(tenant, run.ref) for run in runs}

    def _next_batch(self) -> list[tuple[TenantId, Run]]:
        """The oldest run that can start, and younger ones of its tenant; a source's runs keep their order."""
        if self._held[None]:
            return []
        batch: list[tuple[TenantId, Run]] = []
        blocked = set(self._busy)
        chars = 0
        for tenant, run in self._waiting.values():
            if batch and (tenant != batch[0][0] or (tenant, run.ref) in blocked):
                blocked.add((tenant, run.ref))
                continue
            if (tenant, run.ref) in blocked or self._held[tenant] or tenant in self._paused:
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

    # Waiting for a change

    async def tell(self) -> None:
        """Have those who wait look again."""
        async with self._changed:
            self._changed.notify_all()

    def tell_soon(self) -> None:
        """As `tell`, for callers that cannot wait."""
        task = asyncio.create_task(self.tell())
        self._tells.add(task)
        task.add_done_callback(self._tells.discard)

    async def until(self, holds: Callable[[], bool]) -> None:
        """Return once this holds; looked at after each `tell`."""
        async with self._changed:
            await self._changed.wait_for(holds)

    async def settled(self, tenant: TenantId) -> None:
        """Return when the tenant has no open run."""
        await self.until(lambda: not any(owner == tenant for owner, _ in self._open.values()))

    @asynccontextmanager
    async def hold(self, tenant: TenantId | None) -> AsyncGenerator[None]:
        """Have no run of the tenant (None: of any) under way inside the block: those that come wait."""
        self._held[tenant] += 1
        try:
            await self.until(lambda: not any(tenant in (owner, None) for owner, _ in self._busy))
            yield
        finally:
            self._held[tenant] -= 1
            await self.tell()
