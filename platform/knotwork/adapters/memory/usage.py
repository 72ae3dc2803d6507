"""UsageStore in memory."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from knotwork.adapters.memory.database import MemoryDatabase
from knotwork.domain.model import TenantId
from knotwork.domain.usage import Quota, UsageCount, UsageRow
from knotwork.errors import UnknownTenant
from knotwork.ports.usage import UsageBatch


class MemoryUsageStore:
    """UsageStore over a MemoryDatabase."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._tenants = database.tenants
        self._last = ""

    async def add(self, batch: UsageBatch) -> None:
        if batch.id == self._last:
            return
        for row in batch.rows:
            rows = self._tenants.get(row.key.tenant)
            if rows is not None and rows.settings is not None:
                rows.usage[row.key] = rows.usage.get(row.key, UsageCount()) + row.count
        self._last = batch.id

    async def rows(self, tenant: TenantId, *, since: date, until: date) -> list[UsageRow]:
        return [row for row in self._rows(tenant) if since <= row.key.day <= until]

    async def rows_since(self, day: date) -> list[UsageRow]:
        return [row for tenant in sorted(self._tenants) for row in self._rows(tenant) if row.key.day >= day]

    async def put_quota(self, tenant: TenantId, quota: Quota) -> None:
        rows = self._tenants.get(tenant)
        if rows is None or rows.settings is None:
            raise UnknownTenant(tenant)
        rows.quota = quota

    async def quotas(self) -> Mapping[TenantId, Quota]:
        return {tenant: rows.quota for tenant, rows in self._tenants.items() if rows.quota != Quota()}

    async def prune(self, before: date) -> None:
        for rows in self._tenants.values():
            rows.usage = {key: count for key, count in rows.usage.items() if key.day >= before}

    def _rows(self, tenant: TenantId) -> list[UsageRow]:
        rows = self._tenants.get(tenant)
        return [] if rows is None else [UsageRow(key, count) for key, count in sorted(rows.usage.items())]
