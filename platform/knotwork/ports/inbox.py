"""The inbox: requests accepted while the ledger's store is away, kept on disk until they can be recorded there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from knotwork.domain.catalogue import AcceptedRun
from knotwork.domain.model import TenantId


@dataclass(frozen=True, slots=True)
class InboxEntry:
    """A request of a tenant, as it was accepted."""

    tenant: TenantId
    accepted: AcceptedRun


class Inbox(Protocol):
    """Accepted requests by run id, which sorts by time of acceptance. One process owns it.

    Every method raises StoreUnavailable when the disk refuses, with its reason; nothing kept is lost by that.
    """

    async def put(self, entries: Sequence[InboxEntry]) -> None:
        """Keep requests, durably once this returns; one of the same run id is replaced, and none is ever half there."""
        ...

    async def page(self, *, after: str | None = None, limit: int = 100) -> list[InboxEntry]:
        """The oldest requests whose run id comes after `after`, in order of acceptance."""
        ...

    async def remove(self, run_ids: Sequence[str]) -> None:
        """Let requests go; unknown ids are passed over."""
        ...

    async def set_aside(self, run_ids: Sequence[str]) -> None:
        """Keep requests that nobody can carry out for people to look at, and list them no more."""
        ...
