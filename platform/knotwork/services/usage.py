"""Counts what queries use, off their path, and refuses those beyond a tenant's quota."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Callable, Generator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from math import ceil
from uuid import uuid4

import structlog

from knotwork.domain.model import NO_USAGE, TenantId, Usage
from knotwork.domain.usage import Period, Quota, UsageCount, UsageKey, UsageRow
from knotwork.errors import QuotaExceeded, StoreUnavailable
from knotwork.ports.usage import UsageBatch, UsageJournal, UsageStore
from knotwork.services.access import answer_soon

log = structlog.get_logger()

FLUSH_S = 1.0  # between two writes: what a process that is killed may lose
RELOAD_S = 60.0  # between two looks at what other processes counted, and at quotas that they set
WRITE_S = 5.0  # a write that takes longer is tried again
NO_QUOTA = Quota()

Clock = Callable[[], float]  # seconds since the epoch


@dataclass(slots=True)
class Record:
    """One query under way; whoever answers it says what it used."""

    model: str = ""
    usage: Usage = NO_USAGE


@dataclass(slots=True)
class _Gathering:
    """The batch that is being filled."""

    id: str = field(default_factory=lambda: uuid4().hex)
    counts: dict[UsageKey, UsageCount] = field(default_factory=dict[UsageKey, UsageCount])

    def add(self, row: UsageRow) -> None:
        self.counts[row.key] = self.counts.get(row.key, UsageCount()) + row.count

    def batch(self) -> UsageBatch:
        return UsageBatch(self.id, tuple(UsageRow(key, count) for key, count in sorted(self.counts.items())))


class UsageMeter:
    """Usage of all tenants; one a process. Counting and refusing touch memory alone, so no store can hold them up.

    Counts are written every second. While the store is away they are kept in the journal instead, also every second;
    without a journal they last as long as the process. Quotas are kept exactly by one process; of several, each knows
    what the others counted a minute ago.
    """

    def __init__(
        self,
        store: UsageStore,
        *,
        journal: UsageJournal | None = None,
        keep_days: int,
        clock: Clock = time.time,
    ) -> None:
        """`keep_days`: usage of earlier days is removed."""
        self._store, self._journal = store, journal
        self._keep_days, self._clock = keep_days, clock
        self._gathering = _Gathering()
        self._waiting: list[UsageBatch] = []  # for the store, in order; it may have the first already
        self._is_journalled = False
        self._totals: dict[tuple[TenantId, Period, date], UsageCount] = {}  # of the period that begins on this day
        self._under_way: Counter[TenantId] = Counter()
        self._quotas: dict[TenantId, Quota] = {}
        self._writing = asyncio.Lock()
        self._is_held = False
        self._is_behind = False  # the store did not take the last batch
        self._pruned: date | None = None
        self._task: asyncio.Task[None] | None = None

    async def load(self) -> None:
        """Take up what an earlier process left."""
        if self._journal and (left := await self._journal.load()):
            self._waiting, self._is_journalled = left, True
            await self.flush()
        await self._reload()

    async def start(self) -> None:
        """Take up what an earlier process left, and write every second from now on."""
        await self.load()
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Write what is counted, or keep it in the journal; nothing is lost."""
        if self._task:
            self._task.cancel()
            await asyncio.wait({self._task})
        await self.flush()

    @contextlib.contextmanager
    def query(self, tenant: TenantId, mode: str) -> Generator[Record]:
        """Count the query inside the block, unless it fails.

        It counts for the quota from its beginning, so that queries at once cannot exceed it; their tokens are known
        only afterwards, so the tokens of those under way may.

        Raises:
            QuotaExceeded: the tenant has used up what it may.
        """
        self._require_within(tenant)
        record = Record()
        self._under_way[tenant] += 1
        try:
            yield record
        finally:
            self._under_way[tenant] -= 1
        row = UsageRow(UsageKey(tenant, self._today(), mode, record.model), UsageCount.of(record.usage))
        self._gathering.add(row)
        self._add_to_totals(row)

    async def set_quota(self, tenant: TenantId, quota: Quota) -> None:
        """From now on this quota holds.

        Raises:
            UnknownTenant: there is no such tenant.
            StoreUnavailable: the store does not answer; the quota is as it was.
        """
        async with self._writing:  # a look at the stored quotas that began before would set the old one again
            await self._store.put_quota(tenant, quota)
            self._quotas[tenant] = quota

    def quota(self, tenant: TenantId) -> Quota:
        """What the tenant may use."""
        return self._quotas.get(tenant, NO_QUOTA)

    def used(self, tenant: TenantId, period: Period) -> UsageCount:
        """What the tenant has used in the present period, queries under way with it."""
        first = period.first_day(self._today())
        return self._totals.get((tenant, period, first), UsageCount()) + UsageCount(self._under_way[tenant])

    def ends_at(self, period: Period) -> datetime:
        """When the present period is over."""
        return period.ends_at(self._today())

    def forget(self, tenant: TenantId) -> None:
        """The tenant is gone, with all that it used."""
        self._quotas.pop(tenant, None)
        self._totals = {key: count for key, count in self._totals.items() if key[0] != tenant}
        self._gathering.counts = {key: one for key, one in self._gathering.counts.items() if key.tenant != tenant}
        self._waiting = [
            UsageBatch(batch.id, tuple(row for row in batch.rows if row.key.tenant != tenant))
            for batch in self._waiting
        ]

    async def rows(self, tenant: TenantId, *, since: date, until: date) -> list[UsageRow]:
        """The tenant's usage of these days, both included, sorted by key; that of a moment ago with it.

        Raises:
            StoreUnavailable: the store does not answer.
        """
        async with self._writing:
            stored = await self._store.rows(tenant, since=since, until=until)
            counts = defaultdict(UsageCount, {row.key: row.count for row in stored})
            for row in self._unwritten():
                if row.key.tenant == tenant and since <= row.key.day <= until:
                    counts[row.key] += row.count
        return [UsageRow(key, count) for key, count in sorted(counts.items())]

    @contextlib.asynccontextmanager
    async def hold(self) -> AsyncGenerator[None]:
        """Write nothing to the store inside the block; counts go to the journal meanwhile."""
        async with self._writing:
            self._is_held = True
        try:
            yield
        finally:
            self._is_held = False

    async def flush(self) -> None:
        """Write what is counted, or keep it in the journal while the store is away."""
        async with self._writing:
            if self._gathering.counts:
                self._waiting.append(self._gathering.batch())
                self._gathering = _Gathering()
            try:
                while self._waiting and not self._is_held:
                    await answer_soon(self._store.add(self._waiting[0]), within_s=WRITE_S)
                    del self._waiting[0]
                self._is_behind = False
            except StoreUnavailable as error:
                if not self._is_behind:  # once an outage, not once a second
                    log.warning("usage_waits", reason=str(error))
                self._is_behind = True
            self._merge_waiting()
            if self._waiting or self._is_journalled:
                await self._keep()

    def _merge_waiting(self) -> None:
        """Join all batches but the first, which the store may have taken: they would grow by one each second."""
        others = self._waiting[1:]
        if len(others) > 1:
            joined = _Gathering(others[0].id)
            for row in (row for batch in others for row in batch.rows):
                joined.add(row)
            self._waiting[1:] = [joined.batch()]

    async def _keep(self) -> None:
        if self._journal is None:
            return
        try:
            await self._journal.save(self._waiting)
            self._is_journalled = bool(self._waiting)
        except OSError as error:  # a full disk must end nothing but the journal
            log.warning("usage_not_kept", reason=str(error))

    async def _run(self) -> None:
        reloaded = time.monotonic()
        while True:
            await asyncio.sleep(FLUSH_S)
            try:
                if self._gathering.counts or self._waiting:
                    await self.flush()
                if time.monotonic() - reloaded >= RELOAD_S:
                    reloaded = time.monotonic()
                    await self._reload()
                    await self._prune()
            except StoreUnavailable:
                continue
            except Exception:
                log.exception("usage_failed")  # counting goes on, whatever one round met

    async def _reload(self) -> None:
        """Quotas, and totals of the present periods, from the store and from what it does not have yet."""
        async with self._writing:
            self._quotas = dict(await self._store.quotas())
            stored = await self._store.rows_since(Period.MONTH.first_day(self._today()))
            self._totals = {}
            for row in [*stored, *self._unwritten()]:
                self._add_to_totals(row)

    async def _prune(self) -> None:
        async with self._writing:
            today = self._today()
            if self._pruned != today and not self._is_held:
                await self._store.prune(today - timedelta(days=self._keep_days))
                self._pruned = today

    def _unwritten(self) -> list[UsageRow]:
        return [row for batch in [*self._waiting, self._gathering.batch()] for row in batch.rows]

    def _add_to_totals(self, row: UsageRow) -> None:
        for period in Period:
            key = (row.key.tenant, period, period.first_day(row.key.day))
            self._totals[key] = self._totals.get(key, UsageCount()) + row.count

    def _require_within(self, tenant: TenantId) -> None:
        """Raises: QuotaExceeded: by the limit that lasts longest."""
        exceeded: QuotaExceeded | None = None
        for limit, period, counted, most in self.quota(tenant).limits():  # days come before months
            used: int = getattr(self.used(tenant, period), counted)
            if used >= most:
                ends_at = self.ends_at(period)
                exceeded = QuotaExceeded(
                    tenant=tenant,
                    limit=limit,
                    most=most,
                    used=used,
                    ends_at=ends_at.isoformat(),
                    retry_after_s=max(1, ceil(ends_at.timestamp() - self._clock())),
                )
        if exceeded:
            raise exceeded

    def _today(self) -> date:
        return datetime.fromtimestamp(self._clock(), UTC).date()
