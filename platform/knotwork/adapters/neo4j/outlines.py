"""Outlines from the sources' nodes in Neo4j, whose headings `put_sources` writes with each new text."""

from __future__ import annotations

from collections.abc import Sequence

from knotwork.adapters.neo4j.catalogue import source_key
from knotwork.adapters.neo4j.session import Neo4jSession, Row
from knotwork.adapters.neo4j.views import source_parameters
from knotwork.domain.model import SourceRef, TenantId
from knotwork.domain.navigation import Outline
from knotwork.ports.vector_store import View


class Neo4jOutlines:
    """Outlines over Neo4j 5.26 or later. Whoever opened the driver closes it."""

    def __init__(self, session: Neo4jSession) -> None:
        self._session = session

    async def first(self, tenant: TenantId, *, view: View, limit: int) -> list[Outline]:
        rows = await self._session.rows("read/outlines", tenant=tenant, limit=limit, **source_parameters(view))
        return [_outline(row) for row in rows]

    async def of(self, tenant: TenantId, refs: Sequence[SourceRef], *, view: View) -> list[Outline]:
        keys = [source_key(tenant, ref) for ref in dict.fromkeys(refs)]
        rows = await self._session.rows("read/outlines_of", keys=keys, **source_parameters(view))
        found = {outline.ref: outline for outline in map(_outline, rows)}
        return [found[ref] for ref in dict.fromkeys(refs) if ref in found]


def _outline(row: Row) -> Outline:
    return Outline(SourceRef(row["type"], row["id"]), row["title"], tuple(row["headings"]))
