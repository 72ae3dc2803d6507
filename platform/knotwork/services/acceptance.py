"""How a request is recorded before it is answered: in the ledger, or in the inbox while the ledger is away."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import groupby

import structlog

from knotwork.domain.catalogue import OVER, AcceptedRun, Run, RunState
from knotwork.domain.model import ParsedText, TenantId
from knotwork.errors import StoreUnavailable, UnknownTenant
from knotwork.ports.inbox import Inbox, InboxEntry
from knotwork.ports.ledger import Ledger
from knotwork.services.access import answer_soon
from knotwork.services.run_queue import RunQueue

log = structlog.get_logger()

ACCEPT_TOGETHER = 100  # requests recorded in one transaction
RECORD_S = 30.0  # how long the ledger may take for them before it counts as away
KEEP_S = 5.0  # the same where an inbox keeps them: a caller waits no longer than that
RETRY_S = 1.0  # how often an absent ledger is asked whether it is back


class Acceptance:
    """Records requests in order of acceptance. While one waits in the inbox, those that come go there too."""

    def __init__(self, *, ledger: Ledger, inbox: Inbox | None, queue: RunQueue) -> None:
        self._ledger, self._inbox, self._queue = ledger, inbox, queue
        self._arrived: list[tuple[TenantId, AcceptedRun, asyncio.Future[None]]] = []
        self._wake = asyncio.Event()
        self._kept: set[str] = set()  # run ids in the inbox
        self._some_kept = asyncio.Event()
        self._recording = asyncio.Lock()

    @property
    def has_inbox(self) -> bool:
        """Whether requests are accepted while the ledger is away."""
        return self._inbox is not None

    @property
    def is_behind(self) -> bool:
        """Whether requests wait in the inbox, as the ledger was away when last asked."""
        return bool(self._kept)

    @asynccontextmanager
    async def alone(self) -> AsyncGenerator[None]:
        """Have nothing recorded inside the block."""
        async with self._recording:
            yield

    async def load(self) -> None:
        """Take up what an earlier process left in the inbox; what of it is in the ledger already is let go."""
        if self._inbox is None:
            return
        after: str | None = None
        while page := await self._inbox.page(after=after):
            after = page[-1].accepted.run.id
            recorded = [
                run.id
                for tenant, run in ((entry.tenant, entry.accepted.run) for entry in page)
                if await self._ledger.run(tenant, run.id) is not None
            ]
            await self._inbox.remove(recorded)
            self._keep([entry for entry in page if entry.accepted.run.id not in recorded])
        if self._kept:
            log.info("inbox_taken_up", requests=len(self._kept))

    async def accept(self, tenant: TenantId, run: Run, parsed: ParsedText | None = None) -> None:
        """Return once the request is recorded.

        Raises:
            UnknownTenant: there is no such tenant.
            StoreUnavailable: the ledger is away, and there is no inbox, or its disk refuses.
        """
        recorded: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._arrived.append((tenant, AcceptedRun(run, parsed), recorded))
        self._wake.set()
        await recorded

    async def withdraw(self, tenant: TenantId, run: Run) -> bool:
        """Have a request that waits in the inbox recorded as cancelled; False when it waits there no more."""
        async with self._recording:
            if self._inbox is None or run.id not in self._kept:
                return False
            cancelled = replace(run, state=RunState.CANCELLED, source=None, change=None)
            await self._inbox.put([InboxEntry(tenant, AcceptedRun(cancelled))])
            return True

    async def run(self) -> None:
        """Record what comes in, many requests in one transaction, until cancelled."""
        while True:
            if not self._arrived:
                self._wake.clear()
                await self._wake.wait()
            group, self._arrived = self._arrived[:ACCEPT_TOGETHER], self._arrived[ACCEPT_TOGETHER:]
            by_tenant: defaultdict[TenantId, list[tuple[AcceptedRun, asyncio.Future[None]]]] = defaultdict(list)
            for tenant, accepted, recorded in group:
                by_tenant[tenant].append((accepted, recorded))
            for tenant, members in by_tenant.items():
                try:
                    await self._record(tenant, [accepted for accepted, _ in members])
                except Exception as error:  # noqa: BLE001 - whatever it is, its callers get it and the next are served
                    for _, recorded in members:
                        if not recorded.done():
                            recorded.set_exception(error)
                    continue
                for _, recorded in members:
                    if not recorded.done():  # a caller that went away is served all the same
                        recorded.set_result(None)
            await self._queue.tell()

    async def empty_inbox(self) -> None:
        """Move what the inbox keeps to the ledger whenever that is there, until cancelled."""
        while True:
            await self._some_kept.wait()
            try:
                await answer_soon(self._ledger.paused())  # a small question, as those moved may be large
                await self._move()
            except StoreUnavailable:
                await asyncio.sleep(RETRY_S)
            except Exception:  # the requests are safe where they are, and nobody waits for this
                log.exception("inbox_stuck", requests=len(self._kept))
                await asyncio.sleep(RETRY_S)

    async def _record(self, tenant: TenantId, group: Sequence[AcceptedRun]) -> None:
        async with self._recording:
            if not self._kept:
                try:
                    await answer_soon(self._ledger.accept(tenant, group), within_s=KEEP_S if self._inbox else RECORD_S)
                except StoreUnavailable:
                    if self._inbox is None:
                        raise
                    log.warning("ledger_away", kept_in="inbox")
                else:
                    for one in group:
                        self._queue.add(tenant, one.run)
                    return
            if self._inbox is None:
                raise StoreUnavailable("Neo4j", "requests wait for it")
            entries = [InboxEntry(tenant, one) for one in group]
            await self._inbox.put(entries)
            self._keep(entries)

    async def _move(self) -> None:
        """Move the oldest requests: recorded in the ledger, then let go, then carried out."""
        if self._inbox is None:
            return
        async with self._recording:
            page = await self._inbox.page(limit=ACCEPT_TOGETHER)
            for tenant, entries in groupby(page, key=lambda entry: entry.tenant):
                group = [entry.accepted for entry in entries]
                ids = [one.run.id for one in group]
                try:
                    await answer_soon(self._ledger.accept(tenant, group), within_s=RECORD_S)
                except UnknownTenant:  # deleted since it was accepted
                    log.warning("inbox_refused", tenant=tenant, runs=ids)
                    await self._inbox.set_aside(ids)
                    for id_ in ids:
                        self._queue.close(id_)
                else:
                    await self._inbox.remove(ids)
                    for one in group:
                        if one.run.state in OVER:
                            self._queue.close(one.run.id)
                        else:
                            self._queue.add(tenant, one.run)
                self._kept -= set(ids)
            if not page:
                self._kept.clear()  # files that people took away
            if not self._kept:
                self._some_kept.clear()
        await self._queue.tell()

    def _keep(self, entries: Sequence[InboxEntry]) -> None:
        for entry in entries:
            self._kept.add(entry.accepted.run.id)
            if entry.accepted.run.state not in OVER:
                self._queue.announce(entry.tenant, entry.accepted.run)
        if self._kept:
            self._some_kept.set()
