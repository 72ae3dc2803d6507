"""Usage of tenants, added up by day, mode and model; and where counts wait while the store is away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Protocol

from knotwork.domain.model import TenantId
from knotwork.domain.usage import Quota, UsageRow


@dataclass(frozen=True, slots=True)
class UsageBatch:
    """Counts that are added together; the id tells a repeated call from another batch."""

    id: str
    rows: tuple[UsageRow, ...]


class UsageStore(Protocol):
    """Stored usage. Every method raises StoreUnavailable when the store does not answer."""

    async def add(self, batch: UsageBatch) -> None:
        """Add the counts to those stored, all or nothing; rows of tenants that do not exist are left out.

        The batch that was added last may be added again, and changes nothing.
        """
        ...

    async def rows(self, tenant: TenantId, *, since: date, until: date) -> list[UsageRow]:
        """The tenant's rows of these days, both included, sorted by key."""
        ...

    async def rows_since(self, day: date) -> list[UsageRow]:
        """The rows of all tenants from this day on, sorted by key."""
        ...

    async def put_quota(self, tenant: TenantId, quota: Quota) -> None:
        """Set what the tenant may use.

        Raises:
            UnknownTenant: there is no such tenant.
        """
        ...

    async def quotas(self) -> Mapping[TenantId, Quota]:
        """What each tenant may use that has a quota."""
        ...

    async def prune(self, before: date) -> None:
        """Remove the rows of all tenants of days before this one."""
        ...


class UsageJournal(Protocol):
    """Keeps batches that the store has not taken yet beyond the life of this process."""

    async def load(self) -> list[UsageBatch]:
        """The batches last saved, in order; none where nothing was, or what was cannot be read."""
        ...

    async def save(self, batches: Sequence[UsageBatch]) -> None:
        """Keep these in place of what was saved before; on disk when this returns."""
        ...
