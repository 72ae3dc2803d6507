"""Personalised PageRank by local push: only the part of a graph that matters to some starts is ever looked at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import fsum

from knotwork.errors import InvalidInput


class LocalPush:
    """How much of a walk that keeps returning to its starts is spent at each node, over edges given piece by piece.

    A node has a rank, settled, and a residual, still to be handed on. Whoever uses it asks for the `frontier`, the
    nodes with most residual whose edges are not known, reads these edges and gives them to `expand`; `settle` then
    hands residual on along all edges known so far. At any time, with exact(v) the walk's share at v:

        rank(v) ≤ exact(v) and the sum over all v of exact(v) - rank(v) is the sum of the residuals.

    Everything goes in an order of sizes and keys, so equal graphs and starts give equal ranks to the last bit, in
    whatever order their edges were read.

    Source: Andersen, Chung, Lang, "Local Graph Partitioning using PageRank Vectors", FOCS 2006.
    """

    def __init__(self, starts: Mapping[str, float], *, damping: float, threshold: float) -> None:
        """Begin at the starts.

        Args:
            starts: Weight of each start, ≥ 0, at least one positive; only their proportions count.
            damping: Chance to walk on rather than to return, in [0, 1).
            threshold: Residual below which a node hands nothing on, > 0; all residuals sum to 1 at first. The pushes
                of a walk, and so its time, are at most 1 / ((1 - damping) * threshold).
        Raises:
            InvalidInput: no start has weight, or damping or threshold lies outside its bounds.
        """
        total = fsum(starts[node] for node in sorted(starts))
        if total <= 0 or not 0 <= damping < 1 or threshold <= 0:
            raise InvalidInput("a walk needs a start with weight, a damping in [0, 1) and a threshold above 0")
        self._damping, self._threshold = damping, threshold
        self._rank: dict[str, float] = {}
        self._residual = {node: starts[node] / total for node in sorted(starts) if starts[node] > 0}
        self._edges: dict[str, Mapping[str, float]] = {}

    def frontier(self) -> list[str]:
        """Nodes that have residual to hand on and no known edges, most residual first, ties by key."""
        waiting = [
            (-left, node)
            for node, left in self._residual.items()
            if left >= self._threshold and node not in self._edges
        ]
        return [node for _, node in sorted(waiting)]

    def residual(self, node: str) -> float:
        """What a node still has to hand on."""
        return self._residual.get(node, 0.0)

    def expand(self, node: str, edges: Iterable[tuple[str, float]]) -> None:
        """Make the edges that lead away from a node known.

        Args:
            node: Of the graph.
            edges: (neighbour, weight > 0), each neighbour once, in any order. None: the walk that comes here stays.
        """
        ordered = sorted(edges)
        total = fsum(weight for _, weight in ordered)
        self._edges[node] = {other: weight / total for other, weight in ordered}

    def settle(self) -> None:
        """Hand residual on until no node with known edges holds as much as the threshold."""
        while ready := sorted(
            (-left, node) for node, left in self._residual.items() if left >= self._threshold and node in self._edges
        ):
            for _, node in ready:
                self._push(node)

    def ranks(self) -> dict[str, float]:
        """The share of each node reached: its rank, and its residual as if the walk ended there. They sum to 1."""
        nodes = sorted(self._rank.keys() | self._residual.keys())
        return {node: self._rank.get(node, 0.0) + self._residual.get(node, 0.0) for node in nodes}

    def arrivals(self, node: str) -> list[tuple[str, float]]:
        """From which nodes residual was handed to this one, and how much in all, most first, ties by key.

        With what a node started with, that is all that ever came to it, so following the largest part back from a
        node leads to the start that it owes most to. It looks at each pushed node once: who asks for few nodes pays
        for few, where the parts of all would cost more than the walk.
        """
        parts = [
            (other, share * self._damping * self._rank[other] / (1 - self._damping))
            for other, edges in self._edges.items()
            if other in self._rank and (share := edges.get(node)) is not None
        ]
        return sorted(parts, key=lambda part: (-part[1], part[0]))

    def _push(self, node: str) -> None:
        left = self._residual.pop(node)
        edges = self._edges[node]
        stays = 1 - self._damping if edges else 1.0
        self._rank[node] = self._rank.get(node, 0.0) + stays * left
        for other, share in edges.items():
            self._residual[other] = self._residual.get(other, 0.0) + self._damping * share * left
