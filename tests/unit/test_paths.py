"""Searches for paths and for what an entity reaches, over graphs small enough to try every path."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork.domain.ids import relationship_id, split_relationship_id
from knotwork.domain.model import EntityId, RelationshipId
from knotwork.domain.paths import Direction, Found, PathSearch, ReachSearch, Ties, follow

Triple = tuple[str, str, str]
CAP = 200


def entity(name: str) -> EntityId:
    return EntityId(f"thing:{name}")


def ids(triples: Iterable[Triple]) -> list[RelationshipId]:
    return sorted({relationship_id(entity(a), type_, entity(b)) for a, type_, b in triples})


def ties(triples: Iterable[Triple], wanted: Sequence[EntityId], cap: int = CAP) -> dict[EntityId, Ties]:
    known: defaultdict[EntityId, list[RelationshipId]] = defaultdict(list)
    for one in ids(triples):
        from_id, _, to_id = split_relationship_id(one)
        known[from_id].append(one)
        known[to_id].append(one)
    return {
        v: Ties(cap + 1, (), is_hub=True) if len(known[v]) > cap else Ties(len(known[v]), tuple(known[v]))
        for v in wanted
    }


def search(
    triples: Sequence[Triple],
    start: str,
    goal: str,
    *,
    hops: int = 3,
    direction: Direction = Direction.EITHER,
    count: int = 5,
    cap: int = CAP,
) -> Found:
    one = PathSearch(entity(start), entity(goal), hops=hops, direction=direction)
    while wanted := one.wanted():
        one.learn(ties(triples, wanted, cap))
    return one.best(count)


def names(found: Found) -> list[list[str]]:
    return [[v.removeprefix("thing:") for v in path.entities] for path in found.paths]


def every_path(
    triples: Sequence[Triple], start: str, goal: str, hops: int, direction: Direction
) -> list[tuple[float, tuple[RelationshipId, ...]]]:
    """All simple paths with their costs, by trying each."""
    degree: defaultdict[EntityId, int] = defaultdict(int)
    for one in ids(triples):
        for end in split_relationship_id(one)[::2]:
            degree[EntityId(end)] += 1
    found: list[tuple[float, tuple[RelationshipId, ...]]] = []

    def walk(at: EntityId, walked: tuple[RelationshipId, ...], visited: tuple[EntityId, ...]) -> None:
        if at == entity(goal):
            through = sum(round(1000 * log2(degree[v])) for v in visited[1:-1])
            found.append(((1000 * len(walked) + through) / 1000, walked))
            return
        if len(walked) == hops:
            return
        for one in ids(triples):
            if at in split_relationship_id(one)[::2]:
                other = follow(one, at, direction)
                if other is not None and other not in visited:
                    walk(other, (*walked, one), (*visited, other))

    walk(entity(start), (), (entity(start),))
    return sorted(found)


def test_a_path_over_two_relationships_is_found_with_its_direction() -> None:
    found = search([("A", "owns", "B"), ("C", "limits", "B")], "A", "C")
    assert names(found) == [["A", "B", "C"]]
    assert found.is_complete


def test_two_relationships_of_one_pair_are_two_paths() -> None:
    found = search([("A", "founded", "B"), ("A", "sued", "B")], "A", "B")
    assert [path.relationships for path in found.paths] == [
        (relationship_id(entity("A"), "founded", entity("B")),),
        (relationship_id(entity("A"), "sued", entity("B")),),
    ]
    assert [path.score for path in found.paths] == [1.0, 1.0]


def test_direction_is_kept_where_it_is_asked_for() -> None:
    acquired = [("A", "acquired", "B")]
    assert names(search(acquired, "A", "B", direction=Direction.OUT)) == [["A", "B"]]
    assert names(search(acquired, "B", "A", direction=Direction.OUT)) == []
    assert names(search(acquired, "B", "A")) == [["B", "A"]]


def test_a_longer_way_through_rare_things_beats_a_short_one_through_a_commonplace() -> None:
    hub = [("hub", "has", f"x{number}") for number in range(60)]
    triples = [("A", "in", "hub"), ("B", "in", "hub"), ("A", "made", "p"), ("p", "for", "q"), ("q", "of", "B"), *hub]
    assert names(search(triples, "A", "B"))[0] == ["A", "p", "q", "B"]


def test_nothing_is_tied_where_nothing_relates() -> None:
    assert search([], "A", "B").paths == ()
    assert search([("A", "is", "X"), ("B", "is", "Y")], "A", "B", hops=6).paths == ()


def test_a_hub_in_the_middle_is_passed_but_not_walked_through_and_an_end_that_is_one_is_said() -> None:
    crowd = [("hub", "has", f"x{number}") for number in range(20)]
    middle = search([("A", "in", "hub"), ("hub", "of", "B"), *crowd], "A", "B", hops=2, cap=10)
    assert names(middle) == [["A", "hub", "B"]]
    assert middle.is_complete
    end = search([("hub", "of", "B"), *crowd], "hub", "B", hops=2, cap=10)
    assert names(end) == [["hub", "B"]]
    assert (end.is_complete, end.hubs) == (False, (entity("hub"),))


def test_relationships_between_two_hubs_are_asked_for_apart() -> None:
    crowd = [(hub, "has", f"x{number}") for hub in "AB" for number in range(20)]
    one = PathSearch(entity("A"), entity("B"), hops=2)
    while wanted := one.wanted():
        one.learn(ties([*crowd, ("A", "knows", "B")], wanted, 10))
    assert one.ends_are_hubs
    one.add([relationship_id(entity("A"), "knows", entity("B"))])
    assert len(one.best(3).paths) == 1


vertex = st.sampled_from("ABCDEFG")
graphs = st.lists(st.tuples(vertex, st.sampled_from(["x", "y"]), vertex).filter(lambda t: t[0] != t[2]), max_size=14)


@given(graphs, st.integers(1, 5), st.sampled_from(Direction), st.integers(1, 8))
def test_the_best_paths_are_those_of_trying_them_all(
    triples: list[Triple], hops: int, direction: Direction, count: int
) -> None:
    found = search(triples, "A", "B", hops=hops, direction=direction, count=count)
    assert [(path.cost, path.relationships) for path in found.paths] == every_path(triples, "A", "B", hops, direction)[
        :count
    ]
    assert found.is_complete


def reach(triples: Sequence[Triple], start: str, direction: Direction, depth: int, limit: int = 100) -> ReachSearch:
    one = ReachSearch(entity(start), direction=direction, depth=depth, limit=limit)
    while wanted := one.wanted():
        one.learn(ties(triples, wanted))
    return one


CHAIN = [("A", "needs", "B"), ("B", "needs", "C"), ("C", "needs", "A"), ("D", "needs", "C")]


def test_what_depends_on_a_thing_is_found_with_its_depth_and_a_circle_ends() -> None:
    found = reach(CHAIN, "C", Direction.IN, 5)
    assert [(one.depth, one.entity) for one in found.reached()] == [(1, "thing:B"), (1, "thing:D"), (2, "thing:A")]
    assert (found.counts(), found.is_complete) == ({1: 2, 2: 1}, True)


def test_a_depth_and_a_limit_hold() -> None:
    assert [one.entity for one in reach(CHAIN, "C", Direction.IN, 1).reached()] == ["thing:B", "thing:D"]
    wide = reach([("A", "has", f"x{number:02}") for number in range(20)], "A", Direction.OUT, 3, limit=5)
    assert ([one.entity for one in wide.reached()], wide.is_complete) == ([f"thing:x{n:02}" for n in range(5)], False)
    assert wide.counts() == {1: 20}


@pytest.mark.parametrize("direction", Direction)
def test_turning_round_twice_is_the_way_itself(direction: Direction) -> None:
    assert direction.reverse.reverse is direction
