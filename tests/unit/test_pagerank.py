from __future__ import annotations

from math import isclose

from hypothesis import given
from hypothesis import strategies as st

from knotwork.domain.pagerank import personalised_pagerank

nodes = st.sampled_from("abcdef")
edges = st.lists(st.tuples(nodes, nodes, st.floats(0.1, 10)).filter(lambda edge: edge[0] != edge[1]), max_size=12)
seeds = st.dictionaries(nodes, st.floats(0.1, 10), min_size=1)


def test_a_lone_seed_keeps_the_whole_walk() -> None:
    rank = personalised_pagerank([], {"a": 3.0})
    assert isclose(rank["a"], 1.0)


def test_nearer_nodes_get_more() -> None:
    rank = personalised_pagerank([("a", "b", 1), ("b", "c", 1), ("c", "d", 1)], {"a": 1})
    assert rank["a"] > rank["b"] > rank["c"] > rank["d"] > 0


def test_a_heavier_edge_carries_more() -> None:
    rank = personalised_pagerank([("a", "b", 3), ("a", "c", 1)], {"a": 1})
    assert rank["b"] > rank["c"]


def test_what_no_seed_reaches_is_not_ranked() -> None:
    assert "c" not in personalised_pagerank([("c", "d", 1)], {"a": 1})


@given(edges, seeds)
def test_the_shares_sum_to_one(edges: list[tuple[str, str, float]], seeds: dict[str, float]) -> None:
    assert isclose(sum(personalised_pagerank(edges, seeds).values()), 1.0, rel_tol=1e-9)


@given(st.data())
def test_the_order_of_edges_and_seeds_does_not_matter(data: st.DataObject) -> None:
    given_edges, given_seeds = data.draw(edges), data.draw(seeds)
    shuffled = data.draw(st.permutations(given_edges))
    again = personalised_pagerank(shuffled, dict(data.draw(st.permutations(list(given_seeds.items())))))
    assert again == personalised_pagerank(given_edges, given_seeds)
