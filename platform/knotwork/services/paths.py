"""Paths between named entities, and what an entity reaches, each hop with the evidence that one view shows.

A path goes over relationships alone: never through a chunk that two facts merely share.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import combinations

from knotwork.domain.graph_views import EntityView, RelationshipView
from knotwork.domain.model import EntityId, RelationshipId
from knotwork.domain.paths import Direction, Found, PathSearch, Reached, ReachSearch, Ties
from knotwork.domain.retrieval import Reader
from knotwork.errors import InvalidInput, LimitReached
from knotwork.ports.graph_store import GraphStore
from knotwork.ports.graph_walk import GraphWalk
from knotwork.ports.vector_store import View

MAX_ENDS = 5  # entities that paths are looked for between: ten pairs
MAX_HOPS = 6
MAX_PATHS = 50
MAX_DEPTH = 10
MAX_REACHED = 1000
HUB = 200  # relationships above which an entity is passed, not walked through (docs/guide/questions.md, "Paths")
CHUNKS_OF_HOP = 5  # shown of each relationship
SEARCH_S = 10.0  # that one question may take


@dataclass(frozen=True, slots=True)
class FoundPath:
    """A way between two entities; `hops` in its order, each directed as it is stored."""

    score: float  # 1 for a direct relationship
    entities: tuple[EntityView, ...]
    hops: tuple[RelationshipView, ...]


@dataclass(frozen=True, slots=True)
class Paths:
    """The best paths of each pair of ends, best first. Without completeness a bound or a hub may have hidden some."""

    ends: tuple[EntityView, ...]
    paths: tuple[FoundPath, ...]
    is_complete: bool
    hubs: tuple[EntityId, ...]


@dataclass(frozen=True, slots=True)
class ReachedEntity:
    """An entity reached in `depth` hops, the last of them `hop`."""

    depth: int
    entity: EntityView
    via: EntityId
    hop: RelationshipView


@dataclass(frozen=True, slots=True)
class Reach:
    """What an entity reaches, by (depth, id); `counts` is how many of each depth there are, shown or not."""

    entity: EntityView
    reached: tuple[ReachedEntity, ...]
    counts: dict[int, int]
    is_complete: bool
    hubs: tuple[EntityId, ...]


class PathFinder:
    """Walks the graph as one view shows it."""

    def __init__(self, graph: GraphStore, walk: GraphWalk) -> None:
        self._graph, self._walk = graph, walk

    async def between(
        self,
        reader: Reader,
        ends: Sequence[EntityView],
        *,
        view: View,
        hops: int = 3,
        count: int = 5,
        direction: Direction = Direction.EITHER,
    ) -> Paths:
        """The `count` best paths of each pair of ends, in the order of the ends (OUT leads from the earlier one).

        Raises:
            InvalidInput: fewer than two ends or too many, or a bound out of its range.
            LimitReached: it took too long.
        """
        ends = list(dict.fromkeys(ends))
        _check("different entities", len(ends), 2, MAX_ENDS)
        _check("hops", hops, 1, MAX_HOPS)
        _check("the number of paths", count, 1, MAX_PATHS)
        async with _in_time():
            found = [
                await self._pair(reader, first.id, second.id, view, hops, count, direction)
                for first, second in combinations(ends, 2)
            ]
            paths = sorted({path for one in found for path in one.paths})
            facts, entities = await self._shown(
                reader,
                view,
                {id_ for path in paths for id_ in path.relationships},
                {id_ for path in paths for id_ in path.entities},
            )
        return Paths(
            tuple(ends),
            tuple(
                FoundPath(
                    path.score,
                    tuple(entities[id_] for id_ in path.entities),
                    tuple(facts[id_] for id_ in path.relationships),
                )
                for path in paths
                if entities.keys() >= set(path.entities) and facts.keys() >= set(path.relationships)
            ),
            all(one.is_complete for one in found),
            tuple(sorted({hub for one in found for hub in one.hubs})),
        )

    async def reach(
        self,
        reader: Reader,
        entity: EntityView,
        *,
        view: View,
        types: Sequence[str] | None = None,
        direction: Direction = Direction.EITHER,
        depth: int = 3,
        limit: int = 100,
    ) -> Reach:
        """What is reached from an entity over relationships of these types (None: all), directly or not.

        Raises:
            InvalidInput: a bound is out of its range.
            LimitReached: it took too long.
        """
        _check("depth", depth, 1, MAX_DEPTH)
        _check("limit", limit, 1, MAX_REACHED)
        search = ReachSearch(entity.id, direction=direction, depth=depth, limit=limit)
        async with _in_time():
            while wanted := search.wanted():
                ties = dict(
                    await self._walk.ties(reader.tenant, wanted, view=view, cap=HUB, direction=direction, types=types)
                )
                if entity.id in ties and ties[entity.id].is_hub:  # what is asked about is walked through all the same
                    first = await self._walk.first_ties(
                        reader.tenant, entity.id, view=view, limit=MAX_REACHED, direction=direction, types=types
                    )
                    ties[entity.id] = Ties(len(first), tuple(first), is_hub=len(first) == MAX_REACHED)
                search.learn(ties)
            reached = search.reached()
            facts, entities = await self._shown(
                reader, view, {one.relationship for one in reached}, {one.entity for one in reached}
            )
        return Reach(
            entity,
            tuple(
                _reached(one, facts, entities)
                for one in reached
                if one.relationship in facts and one.entity in entities
            ),
            search.counts(),
            search.is_complete and not search.hubs,
            search.hubs,
        )

    async def types_at(self, reader: Reader, entity: EntityId, *, view: View) -> list[str]:
        """The types of the visible relationships of an entity, sorted."""
        return await self._walk.types_at(reader.tenant, entity, view=view, limit=MAX_REACHED)

    async def _pair(
        self,
        reader: Reader,
        start: EntityId,
        goal: EntityId,
        view: View,
        hops: int,
        count: int,
        direction: Direction,
    ) -> Found:
        search = PathSearch(start, goal, hops=hops, direction=direction)
        while wanted := search.wanted():
            search.learn(await self._walk.ties(reader.tenant, wanted, view=view, cap=HUB))
        if search.ends_are_hubs:
            search.add(await self._walk.ties_between(reader.tenant, start, goal, view=view, limit=count))
        return search.best(count)

    async def _shown(
        self, reader: Reader, view: View, relationships: set[RelationshipId], entities: set[EntityId]
    ) -> tuple[dict[RelationshipId, RelationshipView], dict[EntityId, EntityView]]:
        """Those of them that are still there, with names, descriptions and chunks as the view shows them."""
        facts, named = await asyncio.gather(
            self._graph.relationships(reader.tenant, sorted(relationships), view=view, chunk_limit=CHUNKS_OF_HOP),
            self._graph.entities(reader.tenant, sorted(entities), view=view),
        )
        return {one.id: one for one in facts}, {one.id: one for one in named}


def _reached(
    one: Reached, facts: dict[RelationshipId, RelationshipView], entities: dict[EntityId, EntityView]
) -> ReachedEntity:
    return ReachedEntity(one.depth, entities[one.entity], one.via, facts[one.relationship])


def _check(what: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise InvalidInput(f"{what} must be {least} to {most}, not {value}")


@asynccontextmanager
async def _in_time() -> AsyncGenerator[None]:
    """Ends a search that takes too long, in words."""
    try:
        async with asyncio.timeout(SEARCH_S):
            yield
    except TimeoutError as error:
        raise LimitReached(f"the search took over {SEARCH_S:g} s; ask for fewer hops or fewer entities") from error
