"""Tenants: made, switched, counted, removed."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Iterable, Mapping

from knotwork.domain.catalogue import TenantSettings
from knotwork.domain.model import TenantId
from knotwork.errors import InvalidInput, StoreUnavailable, UnknownTenant
from knotwork.ports.catalogue import Catalogue
from knotwork.ports.vector_store import VectorStore
from knotwork.services.access import FRESH_S, answer_soon
from knotwork.services.intake import Intake

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


def require_name(tenant: str) -> None:
    """Raises: InvalidInput: a tenant cannot have this name."""
    if not NAME.fullmatch(tenant):
        raise InvalidInput(
            f"{tenant!r} cannot name a tenant; use up to 64 of a-z, 0-9, '.', '_' and '-', "
            "beginning with a letter or digit"
        )


class Tenants:
    """The tenants of one platform."""

    def __init__(
        self,
        *,
        catalogue: Catalogue,
        vectors: VectorStore,
        intake: Intake,
        on_gone: Callable[[TenantId], None] = lambda _: None,
    ) -> None:
        """`on_gone` is told of a tenant that is removed."""
        self._catalogue, self._vectors, self._intake, self._on_gone = catalogue, vectors, intake, on_gone
        self._seen: dict[TenantId, float] = {}  # when a tenant was last read
        self._is_behind = False
        self._making = asyncio.Lock()  # so that nobody makes, and fills, what is just being cleared

    async def put(self, tenant: TenantId, settings: TenantSettings) -> int:
        """Create a tenant or replace its settings; how many sources were queued to follow a change.

        A new one starts empty, whatever was left of an earlier one of this name when its deletion was cut short.

        A change that this process does not live to have followed is followed after the next start.

        Raises:
            InvalidInput: the name is not usable.
        """
        require_name(tenant)
        async with self._making:
            try:
                await self._catalogue.tenant(tenant)
            except UnknownTenant:
                await self._clear(tenant)
            await self._catalogue.put_tenant(tenant, settings)
        return await self._intake.refresh(tenant) if tenant in await self._catalogue.settings_due() else 0

    async def get(self, tenant: TenantId) -> tuple[TenantSettings, Mapping[str, int]]:
        """A tenant's settings, and how many sources, chunks, entities and relationships it has.

        Raises:
            UnknownTenant: there is no such tenant.
        """
        return await self._catalogue.tenant(tenant), await self._catalogue.counts(tenant)

    def know(self, tenants: Iterable[TenantId]) -> None:
        """These tenants exist; they are believed to while the store is away."""
        self._seen.update(dict.fromkeys(tenants, time.monotonic()))

    @property
    def is_behind(self) -> bool:
        """Whether the store did not answer when `require` last asked, so that what was last known is believed."""
        return self._is_behind

    async def require(self, tenant: TenantId) -> None:
        """See that a tenant exists; one seen moments ago, or ever while the store is away, is believed to.

        Raises:
            UnknownTenant: there is no such tenant.
            StoreUnavailable: the store does not answer, and the tenant was never seen.
        """
        now = time.monotonic()
        if now - self._seen.get(tenant, float("-inf")) <= FRESH_S:
            return
        try:
            await answer_soon(self._catalogue.tenant(tenant))
        except StoreUnavailable:
            self._is_behind = True
            if tenant not in self._seen:
                raise
        except UnknownTenant:
            self._is_behind = False
            self._seen.pop(tenant, None)
            raise
        else:
            self._is_behind = False
        self._seen[tenant] = now

    async def list(self) -> list[TenantId]:
        """All tenants, sorted."""
        return await self._catalogue.tenants()

    async def delete(self, tenant: TenantId) -> None:
        """Remove a tenant with all it has; requests of it that wait are dropped, those under way are finished first.

        Raises:
            UnknownTenant: there is no such tenant.
        """
        await self._catalogue.tenant(tenant)
        self._seen.pop(tenant, None)
        for _ in range(2):  # without the tenant's node nothing is accepted; the second round takes what came before
            await self._intake.drop(tenant)
            await self._clear(tenant)
            self._on_gone(tenant)

    async def _clear(self, tenant: TenantId) -> None:
        """Remove every row of a tenant, vectors first: while its node is there, the removal can be asked for again."""
        await self._vectors.drop_tenant(tenant)
        await self._vectors.flush()
        await self._catalogue.delete_tenant(tenant)
