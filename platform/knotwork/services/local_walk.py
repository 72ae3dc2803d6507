"""The walk of mode local: personalised PageRank over names and chunks, read from the graph as far as it matters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from knotwork.domain.ids import split_entity_id, split_relationship_id
from knotwork.domain.model import ChunkId, RelationshipId
from knotwork.domain.pagerank import LocalPush
from knotwork.domain.retrieval import Reader
from knotwork.domain.surroundings import ChunkSurroundings, NameSurroundings
from knotwork.ports.graph_store import GraphStore
from knotwork.ports.vector_store import View

# One set of constants for all data. On musique-60 (recorded and packaged extraction), 2wiki-51 alone and in 6,119
# passages, and podcast-1669, figures moved by less than half their intervals within the ranges given; `bench.retrieval`
# measures them.
DAMPING = 0.6  # chance to walk on: answers lie a few steps from what the question names; 0.5 to 0.7 are alike
MENTION_WEIGHT = 1.0  # of an edge between a name and a chunk
ABOUT_WEIGHT = 10.0  # more, from a name to a chunk under a title or heading that is the name; 3 to 30 are alike
LINK_WEIGHT = 1.0  # of an edge between two names spelt nearly alike, for a similarity of 1: as much as a mention
FACT_WEIGHT = 0.3  # of an edge between two names, for each chunk that asserts a fact; 0.1 to 1: each also joins them
THRESHOLD = 1e-3  # residual that is still handed on
READS = 3  # of the graph, at most; 2 to 4 are alike
READ_NODES = 100  # opened at a read, those with most residual first; 300 found no more
HUB_MENTIONS = 100  # visible mentions beyond which a name says too little to be walked through; 20 to all are alike
CHEAP_MENTIONS = 5  # of a name that is opened for the least residual; one with k times as many waits for k times that

_NAME, _CHUNK = "n", "c"  # first letters of node keys, so that a name and a chunk id are never one node


def name_node(name: str) -> str:
    """The node of a normalised name."""
    return _NAME + name


def chunk_node(id_: str) -> str:
    """The node of a chunk."""
    return _CHUNK + id_


def name_of(node: str) -> str | None:
    """The name that a node stands for; None: it stands for a chunk."""
    return node[1:] if node.startswith(_NAME) else None


def chunk_of(node: str) -> ChunkId | None:
    """The chunk that a node stands for; None: it stands for a name."""
    return ChunkId(node[1:]) if node.startswith(_CHUNK) else None


@dataclass(frozen=True, slots=True)
class FactBetween:
    """A visible relationship as it joins two names."""

    id: RelationshipId
    from_name: str
    to_name: str
    weight: int

    def other(self, name: str) -> str:
        """The end that is not this name; the name itself when both are."""
        return self.to_name if name == self.from_name else self.from_name


@dataclass(slots=True)
class Walk:
    """What was read of the graph for one question, and the ranks of a walk over it.

    Nodes are names, which join the entities of one name under several types, and chunks. From a name the walk goes
    to the chunks that mention it and to the names that facts tie it to; from a chunk to the names it mentions.
    """

    graph: GraphStore
    reader: Reader
    view: View
    names: dict[str, NameSurroundings] = field(default_factory=dict[str, NameSurroundings])
    chunks: dict[ChunkId, ChunkSurroundings] = field(default_factory=dict[ChunkId, ChunkSurroundings])
    facts: dict[RelationshipId, FactBetween] = field(default_factory=dict[RelationshipId, FactBetween])
    reads: int = 0
    starts: Mapping[str, float] = field(default_factory=dict[str, float])
    ranks: Mapping[str, float] = field(default_factory=dict[str, float])
    links: Mapping[str, Mapping[str, float]] = field(default_factory=dict[str, Mapping[str, float]])
    _push: LocalPush | None = None
    _mentions: dict[str, int] = field(default_factory=dict[str, int])  # of names met in chunks, by the commonest type
    _looked_at: set[str] = field(default_factory=set[str])

    async def read(self, names: Iterable[str], chunks: Iterable[ChunkId]) -> None:
        """Read what is around these names and chunks; what is known already is not read again."""
        due_names = sorted({name for name in names if name_node(name) not in self._looked_at})
        due_chunks = sorted({id_ for id_ in chunks if chunk_node(id_) not in self._looked_at})
        if not due_names and not due_chunks:
            return
        found = await self.graph.surroundings(
            self.reader.tenant, names=due_names, chunks=due_chunks, view=self.view, hub_mentions=HUB_MENTIONS
        )
        self.reads += 1
        self._looked_at.update(map(name_node, due_names), map(chunk_node, due_chunks))
        self.names.update((one.name, one) for one in found.names)
        self.chunks.update((one.id, one) for one in found.chunks)
        for one in found.chunks:
            for entity_id, mentions in one.entities:
                name = split_entity_id(entity_id)[1]
                self._mentions[name] = max(mentions, self._mentions.get(name, 0))
        for one in found.names:
            for id_, weight in one.facts:
                if id_ in self.facts:  # met at its other end
                    continue
                from_id, _, to_id = split_relationship_id(id_)
                self.facts[id_] = FactBetween(id_, split_entity_id(from_id)[1], split_entity_id(to_id)[1], weight)

    async def run(self, starts: Mapping[str, float]) -> None:
        """Walk from these nodes until what is left is too little, or the graph was read often enough."""
        push = LocalPush(starts, damping=DAMPING, threshold=THRESHOLD)
        while True:
            waiting = push.frontier()
            if known := [node for node in waiting if node in self._looked_at]:
                for node in known:
                    push.expand(node, self._edges(node))
                push.settle()
            elif self.reads < READS and (due := [node for node in waiting if self._is_worth(node, push)][:READ_NODES]):
                await self.read(filter(None, map(name_of, due)), filter(None, map(chunk_of, due)))
            else:
                break
        self.starts, self.ranks, self._push = starts, push.ranks(), push

    def arrivals(self, node: str) -> list[tuple[str, float]]:
        """From which nodes the walk came to this one, and how much in all, most first."""
        return self._push.arrivals(node) if self._push else []

    def link(self, name: str, other: str, similarity: float) -> None:
        """Tie two visible names, both ways; before the walk."""
        self.links = {
            **self.links,
            name: {**self.links.get(name, {}), other: similarity},
            other: {**self.links.get(other, {}), name: similarity},
        }

    def fact_between(self, node: str, other: str) -> FactBetween | None:
        """The heaviest fact that ties two names, ties by id; None where one is a chunk, or nothing ties them."""
        name, beside = name_of(node), name_of(other)
        found = self.names.get(name) if name and beside else None
        ties = [self.facts[id_] for id_, _ in found.facts] if found else []
        tying = [fact for fact in ties if {fact.from_name, fact.to_name} == {name, beside}]
        return min(tying, key=lambda fact: (-fact.weight, fact.id), default=None)

    def _is_worth(self, node: str, push: LocalPush) -> bool:
        """Whether enough residual waits to be spread over what opening the node would read.

        A node that spreads little over many tells nothing of any of them, and what all opened nodes may cost together
        is bounded so (the volume of Andersen, Chung and Lang), on a large graph as on a small one.
        """
        name = name_of(node)
        mentions = self._mentions.get(name, 0) if name else 0
        return mentions <= HUB_MENTIONS and push.residual(node) >= THRESHOLD * mentions / CHEAP_MENTIONS

    def _edges(self, node: str) -> list[tuple[str, float]]:
        weights: defaultdict[str, float] = defaultdict(float)
        if name := name_of(node):
            found = self.names.get(name)
            for chunk_id in found.chunks if found else ():
                weights[chunk_node(chunk_id)] = MENTION_WEIGHT
            for chunk_id in found.about if found else ():
                weights[chunk_node(chunk_id)] += ABOUT_WEIGHT
            for id_, weight in found.facts if found else ():
                if (other := self.facts[id_].other(name)) != name:  # one between two types of a name leads nowhere
                    weights[name_node(other)] += FACT_WEIGHT * weight
            for other, similarity in self.links.get(name, {}).items():
                weights[name_node(other)] += LINK_WEIGHT * similarity
        elif chunk := self.chunks.get(ChunkId(node[1:])):
            for entity_id, _ in chunk.entities:
                weights[name_node(split_entity_id(entity_id)[1])] = MENTION_WEIGHT
        return list(weights.items())
