"""Outlines in memory."""

from __future__ import annotations

from collections.abc import Sequence

from knotwork.adapters.memory.database import MemoryDatabase, TenantRows, matches, may_read
from knotwork.domain.model import SourceRef, TenantId
from knotwork.domain.navigation import Outline, outline_headings
from knotwork.ports.vector_store import View


class MemoryOutlines:
    """Outlines over a MemoryDatabase."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._tenants = database.tenants

    async def first(self, tenant: TenantId, *, view: View, limit: int) -> list[Outline]:
        rows = self._tenants[tenant]
        return [outline for ref in sorted(rows.sources) if (outline := _visible(rows, ref, view))][:limit]

    async def of(self, tenant: TenantId, refs: Sequence[SourceRef], *, view: View) -> list[Outline]:
        rows = self._tenants[tenant]
        return [outline for ref in dict.fromkeys(refs) if (outline := _visible(rows, ref, view))]


def _visible(rows: TenantRows, ref: SourceRef, view: View) -> Outline | None:
    source, parsed = rows.sources.get(ref), rows.texts.get(ref)
    if source is None or not may_read(source.auth_subjects, view) or not matches(source, view.filter):
        return None
    return Outline(ref, source.title, tuple(outline_headings(parsed)) if parsed else ())
