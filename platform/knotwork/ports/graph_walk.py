"""The relationships of entities, read for a walk: their ids alone, and of a hub none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from knotwork.domain.model import EntityId, RelationshipId, TenantId
from knotwork.domain.paths import Direction, Ties
from knotwork.ports.vector_store import View


class GraphWalk(Protocol):
    """Reads of the graph as one view shows it. Every method raises StoreUnavailable when the store does not answer.

    A relationship that no visible evidence asserts is not there: neither its id nor its share in a degree. `types`
    None counts those of every type.
    """

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
        """The relationships of each entity that exists; one with more than `cap` of them is a hub.

        `direction` is seen from the entity: OUT counts those that start at it.
        """
        ...

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
        """Of a hub, too: its first `limit` relationships, by id."""
        ...

    async def ties_between(
        self, tenant: TenantId, first: EntityId, second: EntityId, *, view: View, limit: int
    ) -> list[RelationshipId]:
        """The first `limit` relationships of these two, in either direction, by id."""
        ...

    async def types_at(self, tenant: TenantId, entity: EntityId, *, view: View, limit: int) -> list[str]:
        """The types of its relationships, sorted; the first `limit` of them."""
        ...
