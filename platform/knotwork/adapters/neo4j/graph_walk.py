"""GraphWalk over Neo4j 5.26 or later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from knotwork.adapters.neo4j.session import Neo4jSession
from knotwork.adapters.neo4j.views import evidence_parameters
from knotwork.domain.ids import storage_key
from knotwork.domain.model import EntityId, RelationshipId, TenantId
from knotwork.domain.paths import Direction, Ties
from knotwork.ports.vector_store import View


class Neo4jGraphWalk:
    """GraphWalk over Neo4j."""

    def __init__(self, session: Neo4jSession) -> None:
        self._session = session

    async def ties(
        self,
        tenant: TenantId,
        entities: Sequence[EntityId],
        *,
        view: View,
        cap: int,
        direction: Direction = Direction.EITHER,
        types: Sequence[str] | None = None,
    ) -> Mapping[EntityId, Ties]:
        rows = await self._session.rows(
            "read/ties",
            keys=sorted({storage_key(tenant, id_) for id_ in entities}),
            cap=cap,
            **await self._which(tenant, view, direction, types),
        )
        return {
            EntityId(row["id"]): Ties(
                row["degree"], tuple(map(RelationshipId, row["relationships"])), is_hub=row["degree"] > cap
            )
            for row in rows
            if row["id"] is not None and None not in row["relationships"]  # else it went while it was read
        }

    async def first_ties(
        self,
        tenant: TenantId,
        entity: EntityId,
        *,
        view: View,
        limit: int,
        direction: Direction = Direction.EITHER,
        types: Sequence[str] | None = None,
    ) -> list[RelationshipId]:
        return await self._first(tenant, entity, None, limit, await self._which(tenant, view, direction, types))

    async def ties_between(
        self, tenant: TenantId, first: EntityId, second: EntityId, *, view: View, limit: int
    ) -> list[RelationshipId]:
        return await self._first(tenant, first, second, limit, await self._which(tenant, view, Direction.EITHER, None))

    async def types_at(self, tenant: TenantId, entity: EntityId, *, view: View, limit: int) -> list[str]:
        audiences = await self._audiences(tenant, view)
        rows = await self._session.rows(
            "read/types_at", key=storage_key(tenant, entity), limit=limit, **evidence_parameters(view, audiences)
        )
        return [row["type"] for row in rows]

    async def _first(
        self, tenant: TenantId, entity: EntityId, other: EntityId | None, limit: int, which: Mapping[str, object]
    ) -> list[RelationshipId]:
        rows = await self._session.rows(
            "read/first_ties",
            key=storage_key(tenant, entity),
            other=None if other is None else storage_key(tenant, other),
            limit=limit,
            **which,
        )
        return [RelationshipId(row["id"]) for row in rows if row["id"] is not None]

    async def _which(
        self, tenant: TenantId, view: View, direction: Direction, types: Sequence[str] | None
    ) -> dict[str, object]:
        return {
            "direction": direction.value,
            "types": None if types is None else sorted(types),
            **evidence_parameters(view, await self._audiences(tenant, view)),
        }

    async def _audiences(self, tenant: TenantId, view: View) -> list[str] | None:
        """The audiences that the reader belongs to; None: all."""
        if view.subjects is None:
            return None
        rows = await self._session.rows("read/visible_audiences", tenant=tenant, subjects=list(view.subjects))
        return [row["key"] for row in rows]
