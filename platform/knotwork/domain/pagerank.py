"""Personalised PageRank over a small graph that was read for one question."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from math import fsum

ROUNDS = 30  # the error falls by the damping each round: 0.5 ** 30 is below rounding


def personalised_pagerank(
    edges: Iterable[tuple[str, str, float]], seeds: Mapping[str, float], *, damping: float = 0.5
) -> dict[str, float]:
    """How much of a walk that keeps returning to the seeds is spent at each node.

    Args:
        edges: Undirected edges (node, node, weight > 0); repeated edges add up.
        seeds: Weight of each start, ≥ 0, at least one positive; seeds without an edge are nodes too.
        damping: Chance to walk on rather than to return, in [0, 1). 0.5 stays near the seeds (HippoRAG's value).
    Returns:
        Share of each node reached, summing to 1 up to rounding; equal input in any order gives equal output.
    Source: Haveliwala, "Topic-sensitive PageRank", WWW 2002.
    """
    neighbours: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    for one, other, weight in sorted(edges):
        neighbours[one][other] += weight
        neighbours[other][one] += weight
    total = fsum(seeds.values())
    start = {node: weight / total for node, weight in sorted(seeds.items()) if weight > 0}
    strength = {node: fsum(near.values()) for node, near in neighbours.items()}
    rank = dict(start)
    for _ in range(ROUNDS):
        arriving: defaultdict[str, list[float]] = defaultdict(list)
        for node, share in rank.items():
            if not (near := neighbours.get(node)):
                arriving[node].append(damping * share)  # a lone node keeps its walk
                continue
            for other, weight in near.items():
                arriving[other].append(damping * share * weight / strength[node])
        rank = {
            node: fsum([(1 - damping) * start.get(node, 0.0), *arriving.get(node, ())])
            for node in sorted(start.keys() | arriving.keys())
        }
    return rank
