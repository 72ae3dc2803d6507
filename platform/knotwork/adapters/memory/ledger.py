"""Ledger in memory."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

from knotwork.adapters.memory.database import MemoryDatabase
from knotwork.domain.catalogue import OVER, AcceptedRun, Run
from knotwork.domain.model import ParsedText, SourceRef, Subject, TenantId
from knotwork.errors import UnknownTenant


class MemoryLedger:
    """Ledger over a MemoryDatabase."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._tenants = database.tenants
        self._locks: defaultdict[tuple[TenantId, SourceRef], asyncio.Lock] = defaultdict(asyncio.Lock)

    async def accept(self, tenant: TenantId, runs: Sequence[AcceptedRun]) -> None:
        rows = self._tenants[tenant]
        if rows.settings is None:
            raise UnknownTenant(tenant)
        for one in runs:
            if one.run.id in rows.runs:
                continue
            rows.runs[one.run.id] = one.run
            if one.parsed is not None:
                rows.run_texts[one.run.id] = one.parsed

    @asynccontextmanager
    async def alone(self, tenant: TenantId, runs: Sequence[Run]) -> AsyncGenerator[list[str]]:
        async with AsyncExitStack() as held:
            for ref in sorted({run.ref for run in runs}):
                await held.enter_async_context(self._locks[tenant, ref])
            stored = self._tenants[tenant].runs
            yield [run.id for run in runs if run.id in stored and stored[run.id].state not in OVER]

    async def texts(self, tenant: TenantId, run_ids: Sequence[str]) -> Mapping[str, ParsedText]:
        stored = self._tenants[tenant].run_texts
        return {id_: stored[id_] for id_ in run_ids if id_ in stored}

    async def record(self, tenant: TenantId, runs: Sequence[Run]) -> None:
        rows = self._tenants[tenant]
        for run in runs:
            stored = rows.runs.get(run.id)
            if stored is None or stored.state in OVER:
                continue
            stored = replace(
                stored, step=run.step, state=run.state, error_code=run.error_code, error=run.error, result=run.result
            )
            if run.state in OVER:
                stored = replace(stored, source=None, change=None)
                rows.run_texts.pop(run.id, None)
            rows.runs[run.id] = stored

    async def run(self, tenant: TenantId, run_id: str) -> Run | None:
        return self._tenants[tenant].runs.get(run_id)

    async def runs(
        self,
        tenant: TenantId,
        *,
        subjects: Sequence[Subject] | None = None,
        others: Collection[str] = (),
        after: str | None = None,
        limit: int = 100,
    ) -> list[Run]:
        rows = self._tenants[tenant]

        def is_shown(run: Run) -> bool:
            if subjects is None or run.id in others or run.state not in OVER:
                return True
            source = rows.sources.get(run.ref)
            return source is not None and not set(subjects).isdisjoint(source.auth_subjects)

        ids = sorted(rows.runs, reverse=True)
        return [rows.runs[id_] for id_ in ids if (after is None or id_ < after) and is_shown(rows.runs[id_])][:limit]

    async def unfinished(self, *, after: str | None = None, limit: int = 1000) -> list[tuple[TenantId, Run]]:
        found = [
            (tenant, run)
            for tenant, rows in self._tenants.items()
            for run in rows.runs.values()
            if run.state not in OVER and (after is None or run.id > after)
        ]
        return sorted(found, key=lambda one: one[1].id)[:limit]

    async def set_paused(self, tenant: TenantId, *, paused: bool) -> None:
        rows = self._tenants[tenant]
        if rows.settings is None:
            raise UnknownTenant(tenant)
        rows.is_paused = paused

    async def paused(self) -> list[TenantId]:
        return sorted(tenant for tenant, rows in self._tenants.items() if rows.is_paused)
