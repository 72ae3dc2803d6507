"""The walk of mode local: how often and how far it reads the graph, and how its starts are told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from knotwork.domain.model import ChunkId, EntityId, RelationshipId, TenantId
from knotwork.domain.retrieval import Reader
from knotwork.domain.surroundings import ChunkSurroundings, NameSurroundings, Surroundings
from knotwork.ports.graph_store import GraphStore
from knotwork.ports.vector_store import Hit, View
from knotwork.services.local_explanation import Explanation
from knotwork.services.local_seeds import Seeds
from knotwork.services.local_walk import (
    CHEAP_MENTIONS,
    HUB_MENTIONS,
    READ_NODES,
    READS,
    THRESHOLD,
    Walk,
    chunk_node,
    name_node,
)


@dataclass(frozen=True, slots=True)
class Read:
    """What one call asked for."""

    names: tuple[str, ...]
    chunks: tuple[str, ...]


@dataclass
class Passages:
    """A graph of passages that name things, which keeps what it was asked; `mentions` tells more than it holds."""

    named: dict[str, Sequence[str]]
    mentions: dict[str, int] = field(default_factory=dict[str, int])
    asked: list[Read] = field(default_factory=list[Read])

    async def surroundings(
        self, tenant: TenantId, *, names: Sequence[str], chunks: Sequence[ChunkId], view: View, hub_mentions: int
    ) -> Surroundings:
        self.asked.append(Read(tuple(names), tuple(chunks)))
        return Surroundings(
            tuple(self._name(one, hub_mentions) for one in names),
            tuple(
                ChunkSurroundings(id_, tuple((EntityId(f"thing:{one}"), self._count(one)) for one in self.named[id_]))
                for id_ in chunks
            ),
        )

    def _name(self, name: str, hub_mentions: int) -> NameSurroundings:
        found = () if self._count(name) > hub_mentions else self._holding(name)
        return NameSurroundings(name, self._count(name), (EntityId(f"thing:{name}"),), found)

    def _holding(self, name: str) -> tuple[ChunkId, ...]:
        return tuple(ChunkId(id_) for id_, names in sorted(self.named.items()) if name in names)

    def _count(self, name: str) -> int:
        return self.mentions.get(name, len(self._holding(name)))


def walk_over(graph: Passages) -> Walk:
    # Of a store, a walk asks for surroundings alone.
    return Walk(cast("GraphStore", graph), Reader(TenantId("t")), View())


def chain(links: int) -> Passages:
    """Passages of which each names what the one before names last: c0 n0 c1 n1 ..."""
    return Passages({f"c{place}": (f"n{place - 1}", f"n{place}") for place in range(1, links)})


async def test_a_walk_reads_the_graph_a_bounded_number_of_times() -> None:
    graph = chain(20)
    walk = walk_over(graph)
    await walk.run({name_node("n0"): 1.0})
    assert graph.asked == [Read(("n0",), ()), Read((), ("c1",)), Read(("n1",), ())]
    assert walk.reads == len(graph.asked) == READS
    assert chunk_node("c2") in walk.ranks
    assert chunk_node("c3") not in walk.ranks


async def test_a_walk_that_ends_earlier_reads_no_more() -> None:
    graph = chain(2)
    await walk_over(graph).run({chunk_node("c1"): 1.0})
    assert graph.asked == [Read((), ("c1",)), Read(("n0", "n1"), ())]


async def test_what_was_read_before_is_not_read_again() -> None:
    graph = chain(2)
    walk = walk_over(graph)
    await walk.read(["n0"], [ChunkId("c1")])
    await walk.read(["n0"], [ChunkId("c1")])
    await walk.run({name_node("n0"): 1.0})
    assert graph.asked == [Read(("n0",), ("c1",)), Read(("n1",), ())]


async def test_a_read_of_the_walk_opens_a_bounded_number_of_nodes_those_with_most_residual() -> None:
    number = 3 * READ_NODES
    graph = Passages({f"c{place:03}": (f"n{place:03}",) for place in range(number)})
    # Weights in an order that is not that of the keys.
    starts = {chunk_node(f"c{place:03}"): 1000.0 + place * 7 % number for place in range(number)}
    walk = walk_over(graph)
    await walk.run(starts)
    heaviest = sorted(starts, key=lambda node: -starts[node])[:READ_NODES]
    assert graph.asked[0] == Read((), tuple(sorted(node[1:] for node in heaviest)))
    assert all(len(read.names) + len(read.chunks) <= READ_NODES for read in graph.asked)
    assert len(graph.asked) == READS


async def opened(mentions: int, share: float) -> bool:
    """Whether a name with so many mentions is read when the walk comes to it with this share of all."""
    graph = Passages({"c": ("rare",), "d": ()}, {"rare": mentions})
    walk = walk_over(graph)
    await walk.read([], [ChunkId("c"), ChunkId("d")])
    handed_on = 0.6  # the damping: the only edge of `c` carries it to the name
    await walk.run({chunk_node("c"): share / handed_on, chunk_node("d"): 1 - share / handed_on})
    return any("rare" in read.names for read in graph.asked)


async def test_a_name_is_opened_for_a_residual_that_grows_with_its_mentions() -> None:
    assert await opened(CHEAP_MENTIONS, 1.01 * THRESHOLD)
    assert not await opened(2 * CHEAP_MENTIONS, 1.99 * THRESHOLD)
    assert await opened(2 * CHEAP_MENTIONS, 2.01 * THRESHOLD)


async def test_a_name_with_few_mentions_waits_for_the_threshold_all_the_same() -> None:
    assert not await opened(1, 0.99 * THRESHOLD)
    assert await opened(1, 1.01 * THRESHOLD)


async def test_a_hub_is_not_opened_for_any_residual() -> None:
    assert await opened(HUB_MENTIONS, 0.59)
    assert not await opened(HUB_MENTIONS + 1, 0.59)


async def test_a_start_is_told_as_near_or_as_sharing_words_and_as_near_when_it_is_both() -> None:
    graph = Passages({"near": (), "worded": (), "both": ()})
    walk = walk_over(graph)
    dense, keyword = [Hit("near", 0.9), Hit("both", 0.8)], [Hit("both", 5.0), Hit("worded", 3.0)]
    seeds = Seeds({}, {}, {}, dense, keyword)
    await walk.run(seeds.starts({}))
    told = {seed["passage"]: seed["because"] for seed in Explanation(walk, seeds, []).of_answer()["seeds"]}
    assert told == {
        "near": "near the question",
        "both": "near the question",
        "worded": "shares words with the question",
    }


async def test_a_start_that_is_a_name_is_told_by_what_names_it() -> None:
    graph = Passages({"c": ("ada", "bob", "cat")})
    walk = walk_over(graph)
    await walk.read(["ada", "bob", "cat"], [])
    named = {"ada": walk.names["ada"]}
    seeds = Seeds(named, {EntityId("thing:cat"): 0.6}, {RelationshipId("thing:ada|met|thing:bob"): 0.7}, [], [])
    await walk.run(seeds.starts(walk.names))
    told = {seed["name"]: seed["because"] for seed in Explanation(walk, seeds, []).of_answer()["seeds"]}
    assert told == {
        "ada": "named in the question",
        "bob": "in a fact near the question",
        "cat": "an entity near the question",
    }
