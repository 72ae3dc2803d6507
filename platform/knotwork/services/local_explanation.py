"""Why mode local found a passage: what the walk owes it to, step by step, and the facts that it asserts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from knotwork.domain.graph_views import RelationshipView
from knotwork.domain.ids import split_entity_id
from knotwork.domain.model import ChunkId, RelationshipId
from knotwork.services.local_seeds import Seeds
from knotwork.services.local_walk import HUB_MENTIONS, FactBetween, Walk, chunk_node, chunk_of, name_node, name_of

Json = dict[str, Any]

ENTITIES, FACTS = 8, 8  # shown with a passage, at most
STEPS = 8  # of a chain, at most
FACTS_READ = 60  # whose provenance is read for one answer, at most
NODES_SHOWN, EDGES_SHOWN = 50, 100  # of the walk, those with the largest share


class Explanation:
    """Tells what led a finished walk to passages."""

    def __init__(self, walk: Walk, seeds: Seeds, passages: Sequence[ChunkId]) -> None:
        self._walk, self._seeds, self._passages = walk, seeds, passages
        self._near = {hit.id for hit in seeds.dense}
        self._mentioned = _mentioned(walk, set(passages))
        self._passages_of = _inverted(self._mentioned)
        self._chains = {id_: self._chain(id_) for id_ in passages}
        self._facts: Mapping[RelationshipId, RelationshipView] = {}

    async def read_facts(self) -> None:
        """Read how the facts to be shown are spelt, and which passages assert them."""
        ids = {fact.id for chain in self._chains.values() for _, fact in chain if fact} | self._seeds.facts.keys()
        strongest = sorted(
            (fact for fact in self._walk.facts.values() if self._joins_a_passage(fact)),
            key=lambda fact: (-self._rank(fact), fact.id),
        )
        ids.update(fact.id for fact in strongest[:FACTS_READ])
        found = await self._walk.graph.relationships(
            self._walk.reader.tenant, sorted(ids), view=self._walk.view, chunk_limit=HUB_MENTIONS
        )
        self._facts = {fact.id: fact for fact in found}

    def of_passage(self, id_: ChunkId) -> Json:
        """Metadata of a passage: the entities and facts it owes most to, and the chain from the question to it."""
        names = sorted(self._mentioned[id_], key=lambda name: (-self._share(name_node(name)), name))
        entities = [str(one) for name in names for one in self._mentioned[id_][name]]
        own = [fact for fact in self._facts.values() if id_ in fact.chunks and fact.id in self._walk.facts]
        own.sort(key=lambda fact: (-self._rank(self._walk.facts[fact.id]), fact.id))
        return {
            "entities": entities[:ENTITIES],
            "relationships": [_shown(fact) for fact in own[:FACTS]],
            "chain": [self._step(node, fact) for node, fact in self._chains[id_]],
        }

    def of_answer(self) -> Json:
        """The seeds with their weights, and the part of the graph that was walked, the largest shares first."""
        walk, total = self._walk, sum(self._walk.starts.values())
        nodes = sorted(walk.ranks, key=lambda node: (-walk.ranks[node], node))
        shown = {name for node in nodes[:NODES_SHOWN] if (name := name_of(node))}
        facts = [fact for fact in walk.facts.values() if {fact.from_name, fact.to_name} <= shown]
        facts.sort(key=lambda fact: (-self._rank(fact), fact.id))
        seeds = sorted(walk.starts, key=lambda node: (-walk.starts[node], node))
        return {
            "seeds": [
                {**_node(node), "weight": walk.starts[node] / total, "because": self._because(node)} for node in seeds
            ],
            "facts_near": [
                {"id": str(id_), "similarity": near}
                for id_, near in self._seeds.facts.items()
                if id_ in self._facts  # vectors follow the graph, which knows first who may no longer see a fact
            ],
            "near_names": [
                {"name": name, "near": other, "similarity": similarity}
                for name, near in sorted(walk.links.items())
                if name in self._seeds.names
                for other, similarity in sorted(near.items())
            ],
            "reads": walk.reads,
            "names_read": len(walk.names),
            "passages_read": len(walk.chunks),
            "nodes": [{**_node(node), "share": walk.ranks[node]} for node in nodes[:NODES_SHOWN]],
            "relationships": [{"id": str(fact.id), "weight": fact.weight} for fact in facts[:EDGES_SHOWN]],
        }

    def _because(self, node: str) -> str:
        if (name := name_of(node)) is None:
            return "near the question" if chunk_of(node) in self._near else "shares words with the question"
        if name in self._seeds.names:
            return "named in the question"
        return "in a fact near the question" if name in self._seeds.fact_ends else "an entity near the question"

    def _chain(self, id_: ChunkId) -> list[tuple[str, FactBetween | None]]:
        """From a start of the walk to this passage, always along what brought most.

        Each node comes with the fact that ties it to the name before it, whether the walk took that fact's edge or
        went through a passage that holds both.
        """
        node, total = chunk_node(id_), sum(self._walk.starts.values())
        nodes = [node]
        while len(nodes) < STEPS:
            came = next((part for part in self._walk.arrivals(node) if part[0] not in nodes), None)
            own = self._walk.starts.get(node, 0.0) / total if len(nodes) > 1 else 0.0  # its own nearness is no chain
            if came is None or own >= came[1]:
                break
            node = came[0]
            nodes.append(node)
        chain: list[tuple[str, FactBetween | None]] = []
        name: str | None = None
        for node in reversed(nodes):
            chain.append((node, self._walk.fact_between(name, node) if name else None))
            name = node if name_of(node) else name
        return chain

    def _step(self, node: str, fact: FactBetween | None) -> Json:
        view = self._facts.get(fact.id) if fact else None
        return {**_node(node), "by": _shown(view)} if view else _node(node)

    def _joins_a_passage(self, fact: FactBetween) -> bool:
        beside = self._passages_of.get(fact.to_name, frozenset())
        return not beside.isdisjoint(self._passages_of.get(fact.from_name, frozenset()))

    def _rank(self, fact: FactBetween) -> float:
        return self._share(name_node(fact.from_name)) + self._share(name_node(fact.to_name))

    def _share(self, node: str) -> float:
        return self._walk.ranks.get(node, 0.0)


def _mentioned(walk: Walk, passages: set[ChunkId]) -> dict[ChunkId, dict[str, list[str]]]:
    """The names that each passage is known to mention, with their entities."""
    found: dict[ChunkId, dict[str, list[str]]] = {id_: {} for id_ in passages}
    for name, around in walk.names.items():
        for id_ in passages.intersection(around.chunks):
            found[id_][name] = list(map(str, around.entities))
    for id_ in passages & walk.chunks.keys():
        by_name: defaultdict[str, list[str]] = defaultdict(list)
        for entity_id, _ in walk.chunks[id_].entities:
            by_name[split_entity_id(entity_id)[1]].append(str(entity_id))
        found[id_].update(by_name)
    return found


def _inverted(mentioned: Mapping[ChunkId, Mapping[str, object]]) -> dict[str, set[ChunkId]]:
    """The passages that are known to mention each name."""
    found: defaultdict[str, set[ChunkId]] = defaultdict(set)
    for id_, names in mentioned.items():
        for name in names:
            found[name].add(id_)
    return dict(found)


def _node(node: str) -> Json:
    name = name_of(node)
    return {"passage": str(chunk_of(node))} if name is None else {"name": name}


def _shown(fact: RelationshipView) -> Json:
    return {"id": str(fact.id), "from": fact.from_name, "type": fact.type, "to": fact.to_name}
