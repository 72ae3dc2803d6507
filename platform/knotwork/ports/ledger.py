"""The ledger: every accepted request is a run, recorded with its text before the request is answered."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from knotwork.domain.catalogue import AcceptedRun, Run
from knotwork.domain.model import ParsedText, Subject, TenantId


class Ledger(Protocol):
    """Runs by tenant. Every method raises StoreUnavailable when the store does not answer."""

    async def accept(self, tenant: TenantId, runs: Sequence[AcceptedRun]) -> None:
        """Record new runs and their texts durably, all or none; a run recorded already stays as it is.

        Raises:
            UnknownTenant: there is no such tenant; nothing is recorded.
        """
        ...

    def alone(self, tenant: TenantId, runs: Sequence[Run]) -> AbstractAsyncContextManager[Collection[str]]:
        """Inside the block, nobody else is inside one for any of the sources of these runs, in any process.

        Given are the ids of those runs that are still to be carried out: another process may have done so meanwhile.
        Whoever has a block and ends, however, has it no more.
        """
        ...

    async def texts(self, tenant: TenantId, run_ids: Sequence[str]) -> Mapping[str, ParsedText]:
        """The text that came with each of these runs, until the run is done; runs without one are left out."""
        ...

    async def record(self, tenant: TenantId, runs: Sequence[Run]) -> None:
        """Set step, state, error and result of these runs; unknown ones, and ones that are over, are passed over.

        A run that is over lets go of its text, source and change, as a later run may delete what they say.
        """
        ...

    async def run(self, tenant: TenantId, run_id: str) -> Run | None: ...

    async def runs(
        self,
        tenant: TenantId,
        *,
        subjects: Sequence[Subject] | None = None,
        others: Collection[str] = (),
        after: str | None = None,
        limit: int = 100,
    ) -> list[Run]:
        """A page of the tenant's runs, newest first, older than run `after`.

        With subjects: those about a stored source that one of them may read, those that are not over (what they are
        about may change), and `others`, by their ids.
        """
        ...

    async def unfinished(self, *, after: str | None = None, limit: int = 1000) -> list[tuple[TenantId, Run]]:
        """Runs of all tenants that are not over, in order of acceptance, after run `after`."""
        ...

    async def set_paused(self, tenant: TenantId, *, paused: bool) -> None:
        """Note that no run of the tenant is to be started, or that they are again.

        Raises:
            UnknownTenant: there is no such tenant.
        """
        ...

    async def paused(self) -> list[TenantId]:
        """The tenants of which no run is to be started, sorted."""
        ...
