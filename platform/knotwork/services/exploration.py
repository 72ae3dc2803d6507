"""The graph as one reader may see it: entities, and what is tied to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from knotwork.domain.graph_views import EntityView, MentionView, RelationshipView
from knotwork.domain.model import EntityId
from knotwork.domain.normalise import normalise_name
from knotwork.domain.retrieval import Reader
from knotwork.errors import NotFound
from knotwork.ports.graph_store import GraphStore
from knotwork.ports.vector_store import View

MENTIONS = 20  # shown of an entity
RELATIONSHIPS = 50  # shown of an entity, the heaviest first
CHUNKS_OF_RELATIONSHIP = 10  # shown of a relationship


@dataclass(frozen=True, slots=True)
class EntityDetail:
    """An entity with the first chunks that name it and its heaviest relationships."""

    entity: EntityView
    mentions: Sequence[MentionView]
    relationships: Sequence[RelationshipView]


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """An entity, its heaviest relationships, and the entities at their other ends, by id."""

    entity: EntityView
    relationships: Sequence[RelationshipView]
    entities: Sequence[EntityView]


class Exploration:
    """Walks the graph one step at a time."""

    def __init__(self, graph: GraphStore) -> None:
        self._graph = graph

    async def search(
        self, reader: Reader, prefix: str, *, after: EntityId | None = None, limit: int = 100
    ) -> list[EntityView]:
        """A page of the visible entities whose name starts with `prefix` in any spelling, by (name, id).

        An empty prefix lists all; one that can name no entity, such as an emoji alone, none.
        """
        name = normalise_name(prefix)
        if prefix and not name:
            return []
        view = View(reader.subjects)
        return await self._graph.search_entities(reader.tenant, name, view=view, after=after, limit=limit)

    async def entity(self, reader: Reader, id_: EntityId) -> EntityDetail:
        """One entity.

        Raises:
            NotFound: no visible chunk names it.
        """
        entity = await self._one(reader, id_)
        mentions = await self._graph.mentions(reader.tenant, id_, view=View(reader.subjects), limit=MENTIONS)
        return EntityDetail(entity, mentions, await self._relationships(reader, id_, RELATIONSHIPS))

    async def neighbourhood(self, reader: Reader, id_: EntityId, *, limit: int) -> Neighbourhood:
        """What is tied to an entity.

        Raises:
            NotFound: no visible chunk names it.
        """
        entity = await self._one(reader, id_)
        relationships = await self._relationships(reader, id_, limit)
        others = sorted({end for one in relationships for end in (one.from_id, one.to_id)} - {id_})
        entities = await self._graph.entities(reader.tenant, others, view=View(reader.subjects))
        return Neighbourhood(entity, relationships, entities)

    async def _one(self, reader: Reader, id_: EntityId) -> EntityView:
        found = await self._graph.entities(reader.tenant, [id_], view=View(reader.subjects))
        if not found:
            raise NotFound("entity", id_)
        return found[0]

    async def _relationships(self, reader: Reader, id_: EntityId, limit: int) -> list[RelationshipView]:
        found = await self._graph.relationships_of(
            reader.tenant, [id_], view=View(reader.subjects), limit=limit, chunk_limit=CHUNKS_OF_RELATIONSHIP
        )
        return sorted(found, key=lambda one: (-one.weight, one.id))
