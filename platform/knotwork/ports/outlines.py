"""Outlines of documents: what can be seen of a tenant's sources without opening them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from knotwork.domain.model import SourceRef, TenantId
from knotwork.domain.navigation import Outline
from knotwork.ports.vector_store import View


class Outlines(Protocol):
    """Type, id, title and headings of the sources that a view shows. StoreUnavailable as of the catalogue."""

    async def first(self, tenant: TenantId, *, view: View, limit: int) -> list[Outline]:
        """The first `limit` visible outlines, by (type, id)."""
        ...

    async def of(self, tenant: TenantId, refs: Sequence[SourceRef], *, view: View) -> list[Outline]:
        """The outlines of these sources that the view shows, in the order of `refs`, each once."""
        ...
