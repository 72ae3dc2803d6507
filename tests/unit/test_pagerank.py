"""Local push against PageRank by its definition."""

from __future__ import annotations

from collections.abc import Mapping
from math import isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork.domain.pagerank import LocalPush
from knotwork.errors import InvalidInput

NODES = "abcdefgh"
DAMPING = 0.5
Graph = dict[str, dict[str, float]]

graphs = st.dictionaries(
    st.sampled_from(NODES), st.dictionaries(st.sampled_from(NODES), st.floats(0.1, 10), max_size=5), max_size=8
)
starts = st.dictionaries(st.sampled_from(NODES), st.floats(0.1, 10), min_size=1)
thresholds = st.sampled_from([1e-1, 1e-2, 1e-3, 1e-9])


def exact(graph: Graph, start: Mapping[str, float]) -> dict[str, float]:
    """By power iteration; a node without edges keeps what comes to it."""
    total = sum(start.values())
    share, kept = {node: weight / total for node, weight in start.items()}, dict.fromkeys(NODES, 0.0)
    for _ in range(60):
        following: dict[str, float] = {}
        for node, left in share.items():
            edges = graph.get(node, {})
            kept[node] += left * (1 - DAMPING if edges else 1)
            for other, weight in edges.items():
                following[other] = following.get(other, 0.0) + DAMPING * left * weight / sum(edges.values())
        share = following
    return kept


def walked(graph: Graph, start: Mapping[str, float], threshold: float, *, page: int = 2) -> LocalPush:
    push = LocalPush(start, damping=DAMPING, threshold=threshold)
    while frontier := push.frontier()[:page]:
        for node in frontier:
            push.expand(node, graph.get(node, {}).items())
        push.settle()
    return push


@given(graphs, starts, thresholds)
def test_what_a_walk_misses_is_at_most_what_is_left_at_its_nodes(
    graph: Graph, start: dict[str, float], threshold: float
) -> None:
    wanted, found = exact(graph, start), walked(graph, start, threshold).ranks()
    assert isclose(sum(found.values()), 1.0, rel_tol=1e-9)
    assert sum(abs(wanted[node] - found.get(node, 0.0)) for node in NODES) <= 2 * threshold * len(NODES) + 1e-9


@given(graphs, starts)
def test_with_a_small_threshold_it_is_the_definition(graph: Graph, start: dict[str, float]) -> None:
    wanted, found = exact(graph, start), walked(graph, start, 1e-12).ranks()
    assert all(isclose(wanted[node], found.get(node, 0.0), abs_tol=1e-9) for node in NODES)


@given(st.data(), graphs, starts, thresholds)
def test_the_order_in_which_edges_and_starts_come_does_not_matter(
    data: st.DataObject, graph: Graph, start: dict[str, float], threshold: float
) -> None:
    shuffled = {node: dict(data.draw(st.permutations(list(edges.items())))) for node, edges in graph.items()}
    begun = dict(data.draw(st.permutations(list(start.items()))))
    assert walked(shuffled, begun, threshold).ranks() == walked(graph, start, threshold).ranks()


def test_the_frontier_is_what_holds_enough_the_most_first() -> None:
    push = LocalPush({"a": 1, "c": 5, "b": 5, "d": 0.001}, damping=DAMPING, threshold=0.01)
    assert push.frontier() == ["b", "c", "a"]


def test_a_node_without_edges_keeps_the_walk() -> None:
    push = LocalPush({"a": 1}, damping=DAMPING, threshold=0.01)
    push.expand("a", [])
    push.settle()
    assert push.ranks() == {"a": 1.0}
    assert push.frontier() == []


def test_a_heavier_edge_carries_more_and_nearer_nodes_get_more() -> None:
    ranks = walked({"a": {"b": 3, "c": 1}, "b": {"d": 1}, "d": {"a": 1}}, {"a": 1}, 1e-9).ranks()
    assert ranks["a"] > ranks["b"] > ranks["c"]
    assert ranks["b"] > ranks["d"] > 0


def test_what_came_to_a_node_is_told_by_where_from() -> None:
    push = walked({"a": {"c": 1, "b": 3}, "b": {"c": 1}}, {"a": 1}, 1e-9)
    assert [push.arrivals(node) for node in "abc"] == [[], [("a", 0.375)], [("b", 0.1875), ("a", 0.125)]]


@given(graphs, starts, thresholds)
def test_starts_and_arrivals_are_all_that_a_node_has(graph: Graph, start: dict[str, float], threshold: float) -> None:
    push = walked(graph, start, threshold)
    ranks, total = push.ranks(), sum(start.values())
    arrivals = {node: push.arrivals(node) for node in ranks}
    for node, rank in ranks.items():
        came = start.get(node, 0.0) / total + sum(amount for _, amount in arrivals.get(node, ()))
        left = sum(amount for parts in arrivals.values() for from_, amount in parts if from_ == node)
        assert isclose(came, rank + left, rel_tol=1e-9)


@pytest.mark.parametrize(("start", "damping", "threshold"), [({}, 0.5, 0.1), ({"a": 1}, 1.0, 0.1), ({"a": 1}, 0.5, 0)])
def test_a_walk_without_start_or_end_is_refused(start: dict[str, float], damping: float, threshold: float) -> None:
    with pytest.raises(InvalidInput, match="a walk needs"):
        LocalPush(start, damping=damping, threshold=threshold)
