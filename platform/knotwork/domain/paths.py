"""Paths between two entities, and what an entity reaches: searches that say which part of the graph to read next.

A search is fed by whoever can read the graph: `wanted` names the entities whose relationships it needs, `learn` takes
them in, until nothing is wanted. So it never holds more than its bounds, and its answer depends on the graph alone.

A path costs 1 a hop, and log2 of the degree of each entity that it passes through: what everything is tied to ties
nothing in particular. Costs are whole thousandths, so that sums do not depend on their order.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import ceil, log2

from knotwork.domain.ids import split_relationship_id
from knotwork.domain.model import EntityId, RelationshipId

FRONTIER = 300  # entities read at once, the cheapest to reach first: what was measured to take about 5 ms
STEPS = 20_000  # beginnings of paths looked at for the best ones
HOP = 1000  # a hop's cost, in thousandths


class Direction(StrEnum):
    """Which way a relationship is followed."""

    OUT = "out"  # as it is stored, from → to
    IN = "in"  # against it
    EITHER = "either"

    @property
    def reverse(self) -> Direction:
        return {Direction.OUT: Direction.IN, Direction.IN: Direction.OUT}.get(self, self)


@dataclass(frozen=True, slots=True)
class Ties:
    """The visible relationships of an entity.

    Of a hub, which has more than the reader of the graph was asked for, none are given; its degree is one more than
    what was asked for.
    """

    degree: int
    relationships: tuple[RelationshipId, ...]
    is_hub: bool = False


@dataclass(frozen=True, slots=True, order=True)
class Path:
    """A way from one entity to another that visits none twice; `cost` is in hops, 1 or more."""

    cost: float
    relationships: tuple[RelationshipId, ...]
    entities: tuple[EntityId, ...]  # one more than relationships

    @property
    def score(self) -> float:
        """1 for a direct relationship, less the longer and the more commonplace the way."""
        return 1 / self.cost


@dataclass(frozen=True, slots=True)
class Found:
    """The best paths, cheapest first, and whether a bound or a hub may have hidden others."""

    paths: tuple[Path, ...]
    is_complete: bool
    hubs: tuple[EntityId, ...]  # met and not walked through, by id


class PathSearch:
    """The cheapest paths of two entities, read from both ends."""

    def __init__(self, start: EntityId, goal: EntityId, *, hops: int, direction: Direction = Direction.EITHER) -> None:
        """Nothing is known yet.

        Args:
            start: Where paths begin.
            goal: Where they end; another entity than `start`.
            hops: Relationships of a path, at most; 1 or more.
            direction: OUT: every relationship points towards the goal.
        """
        self._start, self._goal, self._hops, self._direction = start, goal, hops, direction
        self._near_start, self._near_goal = {start: 0}, {goal: 0}  # the least cost to reach, as far as is known
        self._ties: dict[EntityId, Ties] = {}
        self._edges: set[RelationshipId] = set()
        self._rounds = ceil(hops / 2)
        self._round = 0
        self._fronts: tuple[set[EntityId], set[EntityId]] = ({start}, {goal})
        self._is_cut = False
        self._closed: set[EntityId] = set()
        self._asked: tuple[EntityId, ...] = ()

    def wanted(self) -> tuple[EntityId, ...]:
        """The entities to be read next, by id; none: the search is over."""
        open_ = self._open()
        while not open_ and self._round < self._rounds:  # all of this round was read from the other end
            self._advance()
            open_ = self._open()
        if len(open_) > FRONTIER:
            self._is_cut = True
        self._asked = tuple(sorted(sorted(open_, key=lambda v: (self._least(v), v))[:FRONTIER]))
        return self._asked

    def learn(self, ties: Mapping[EntityId, Ties]) -> None:
        """Take in what was wanted; an entity that is not there any more may be missing."""
        for entity in self._asked:
            self._ties[entity] = known = ties.get(entity, Ties(0, ()))
            self._edges.update(known.relationships)
            if known.is_hub and self._round < self._rounds:
                self._closed.add(entity)
        self._advance()

    def add(self, relationships: Iterable[RelationshipId]) -> None:
        """Take in relationships of the two ends, where both are hubs."""
        self._edges.update(relationships)

    @property
    def ends_are_hubs(self) -> bool:
        """Whether relationships from end to end would have been seen from neither."""
        return {self._start, self._goal} <= self._closed

    def _open(self) -> set[EntityId]:
        """What this round has to read."""
        if self._round < self._rounds:
            return (self._fronts[0] | self._fronts[1]) - self._ties.keys()
        if self._round == self._rounds:  # where the two ends meet: what passes through them has to be weighed
            return (self._near_start.keys() & self._near_goal.keys()) - self._ties.keys()
        return set()

    def _advance(self) -> None:
        if self._round < self._rounds:
            self._fronts = (
                self._spread(self._near_start, self._fronts[0], self._direction),
                self._spread(self._near_goal, self._fronts[1], self._direction.reverse),
            )
        self._round += 1

    def best(self, count: int) -> Found:
        """The `count` cheapest paths in what was read, ties by the ids of their relationships."""
        onward = self._adjacency()
        bounds = _bounds(onward, self._goal, self._hops, self._through)
        paths: list[Path] = []
        heap: list[tuple[int, tuple[RelationshipId, ...], int, tuple[EntityId, ...]]] = []
        if (least := bounds[self._hops].get(self._start)) is not None:
            heap.append((least, (), 0, (self._start,)))
        steps = 0
        while heap and len(paths) < count and steps < STEPS:
            steps += 1
            _, walked, cost, visited = heapq.heappop(heap)
            if visited[-1] == self._goal:
                paths.append(Path(cost / HOP, walked, visited))
                continue
            left = self._hops - len(walked) - 1
            for relationship, other in onward.get(visited[-1], ()):
                rest = bounds[left].get(other) if left >= 0 else None
                if rest is None or other in visited:
                    continue
                so_far = cost + HOP + (0 if other == self._goal else self._through(other))
                heapq.heappush(heap, (so_far + rest, (*walked, relationship), so_far, (*visited, other)))
        is_complete = not self._is_cut and not self._closed and steps < STEPS
        return Found(tuple(paths), is_complete, tuple(sorted(self._closed)))

    def _least(self, entity: EntityId) -> int:
        return min(near[entity] for near in (self._near_start, self._near_goal) if entity in near)

    def _through(self, entity: EntityId) -> int:
        return round(HOP * log2(max(1, self._ties[entity].degree)))

    def _spread(self, near: dict[EntityId, int], front: Iterable[EntityId], direction: Direction) -> set[EntityId]:
        """The entities next to a front that were not reached before."""
        reached: dict[EntityId, int] = {}
        for entity in front:
            if entity not in self._ties:
                continue
            through = 0 if near[entity] == 0 else self._through(entity)
            for relationship in self._ties[entity].relationships:
                other = follow(relationship, entity, direction)
                if other is not None and other not in near:
                    cost = near[entity] + through + HOP
                    reached[other] = min(cost, reached.get(other, cost))
        near |= reached
        return set(reached)

    def _adjacency(self) -> dict[EntityId, list[tuple[RelationshipId, EntityId]]]:
        """The relationships that a path may take, by the entity that it leaves, in order; only weighed entities."""
        usable = self._ties.keys() | {self._goal, self._start}
        onward: defaultdict[EntityId, list[tuple[RelationshipId, EntityId]]] = defaultdict(list)
        for relationship in sorted(self._edges):
            from_id, _, to_id = split_relationship_id(relationship)
            for entity in (from_id, to_id):
                other = follow(relationship, entity, self._direction)
                if other is not None and entity in usable and other in usable:
                    onward[entity].append((relationship, other))
        return onward


def follow(relationship: RelationshipId, entity: EntityId, direction: Direction) -> EntityId | None:
    """The other end of a relationship of this entity; None when it does not lead this way."""
    from_id, _, to_id = split_relationship_id(relationship)
    if entity == from_id:
        return None if direction is Direction.IN else to_id
    return None if direction is Direction.OUT else from_id


def _bounds(
    onward: Mapping[EntityId, list[tuple[RelationshipId, EntityId]]],
    goal: EntityId,
    hops: int,
    through: Callable[[EntityId], int],
) -> list[dict[EntityId, int]]:
    """For each number of hops that are left: the least cost from an entity to the goal, where there is a way."""
    bounds: list[dict[EntityId, int]] = [{goal: 0}]
    for _ in range(hops):
        last, best = bounds[-1], {goal: 0}
        for entity, ways in onward.items():
            if entity == goal:
                continue
            costs = [HOP + (0 if other == goal else through(other)) + last[other] for _, other in ways if other in last]
            if costs:
                best[entity] = min(costs)
        bounds.append(best)
    return bounds


@dataclass(frozen=True, slots=True)
class Reached:
    """An entity reached, in how many hops, and by which relationship from which entity first."""

    depth: int
    entity: EntityId
    relationship: RelationshipId
    via: EntityId


class ReachSearch:
    """What an entity reaches over relationships of some types, directly or not: each entity once, nearest first."""

    def __init__(self, start: EntityId, *, direction: Direction, depth: int, limit: int) -> None:
        self._direction, self._depth, self._limit = direction, depth, limit
        self._found: dict[EntityId, Reached] = {}
        self._start = start
        self._level = 0
        self._pending: list[EntityId] = [start]  # of this level, still to be read
        self._next: dict[EntityId, Reached] = {}
        self._hubs: set[EntityId] = set()
        self._asked: tuple[EntityId, ...] = ()
        self.is_complete = True

    def wanted(self) -> tuple[EntityId, ...]:
        """The entities to be read next, by id; none: the search is over."""
        if self._level >= self._depth or not self.is_complete:
            return ()
        self._asked = tuple(self._pending[:FRONTIER])
        return self._asked

    def learn(self, ties: Mapping[EntityId, Ties]) -> None:
        """Take in what was wanted."""
        for entity in self._asked:
            known = ties.get(entity, Ties(0, ()))
            if known.is_hub:
                self._hubs.add(entity)
            for relationship in sorted(known.relationships):
                other = follow(relationship, entity, self._direction)
                if other is None or other == self._start or other in self._found:
                    continue
                reached = Reached(self._level + 1, other, relationship, entity)
                held = self._next.get(other)
                if held is None or relationship < held.relationship:
                    self._next[other] = reached
        self._pending = self._pending[len(self._asked) :]
        if not self._pending:
            self._end_level()

    def _end_level(self) -> None:
        """A level counts as a whole: which entities of it are kept must not depend on how they were read."""
        self._found |= self._next
        self._level += 1
        self._pending, self._next = sorted(self._next), {}
        if len(self._found) > self._limit:
            self.is_complete = False

    @property
    def hubs(self) -> tuple[EntityId, ...]:
        """Entities met whose relationships were too many to be read, by id."""
        return tuple(sorted(self._hubs))

    def reached(self) -> tuple[Reached, ...]:
        """The first `limit` entities reached, by (depth, id)."""
        return tuple(sorted(self._found.values(), key=lambda one: (one.depth, one.entity))[: self._limit])

    def counts(self) -> dict[int, int]:
        """How many entities each depth has, of all that were read, shown or not."""
        counts: dict[int, int] = {}
        for one in self._found.values():
            counts[one.depth] = counts.get(one.depth, 0) + 1
        return dict(sorted(counts.items()))
