"""Where the walk of mode local starts: names standing in the question, facts near it, and chunks near it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from knotwork.domain.ids import split_entity_id, split_relationship_id
from knotwork.domain.model import RelationshipId, Vector
from knotwork.domain.retrieval import Reader
from knotwork.domain.surroundings import NameSurroundings
from knotwork.ports.graph_store import GraphStore
from knotwork.ports.vector_store import Collection, Hit, VectorStore, View
from knotwork.services.local_walk import chunk_node, name_node

# One set of constants for all data; see local_walk.py.
DENSE_SEEDS = 100  # chunks near the question that the walk starts from; 20 cost two points of recall on musique-60
NEAR_FACTS = 5  # relationships near the question by vector whose ends the walk starts from; 10 and more bring noise
NAME_WEIGHT = 0.1  # of a name in the question as a start, beside the similarity of a fact: many names are mere context
CHUNK_WEIGHT = 0.05  # of the nearest chunk, alike (HippoRAG 2's value); 0.02 to 0.1 are alike
LEAST = 1e-6  # of the last of them: found, so ranked, if nothing else speaks for it


@dataclass(frozen=True, slots=True)
class Seeds:
    """What the question is taken to mean."""

    names: Mapping[str, NameSurroundings]  # that stand in it, the longest first where they overlap
    facts: Mapping[RelationshipId, float]  # nearest by vector, with their similarity
    dense: Sequence[Hit]  # chunks nearest by vector, best first

    @property
    def fact_ends(self) -> dict[str, float]:
        """The names at the ends of the facts, each with the similarities of its facts added up."""
        found: defaultdict[str, float] = defaultdict(float)
        for id_, similarity in self.facts.items():
            from_id, _, to_id = split_relationship_id(id_)
            for name in sorted({split_entity_id(from_id)[1], split_entity_id(to_id)[1]}):
                found[name] += max(similarity, 0.0)
        return dict(found)

    def starts(self, known: Mapping[str, NameSurroundings]) -> dict[str, float]:
        """The weight of each node that the walk starts from; a name that many chunks mention says little.

        Args:
            known: The visible names among those looked for, with their mentions.
        """
        weights = self.fact_ends
        for name in self.names:
            weights[name] = weights.get(name, 0.0) + NAME_WEIGHT
        found = {
            name_node(name): weight / known[name].mentions
            for name, weight in weights.items()
            if weight > 0 and name in known
        }
        return found | {chunk_node(id_): CHUNK_WEIGHT * share for id_, share in prior(self.dense).items()}


def prior(dense: Sequence[Hit]) -> dict[str, float]:
    """Chunks near the question as starts: 1 for the nearest, next to nothing for the last: the tail is light."""
    if not dense:
        return {}
    best, least = dense[0].score, dense[-1].score
    return {hit.id: max((hit.score - least) / (best - least), LEAST) if best > least else 1.0 for hit in dense}


async def near_facts(
    graph: GraphStore, vectors: VectorStore, reader: Reader, view: View, vector: Vector
) -> dict[RelationshipId, float]:
    """The visible relationships nearest to the question, with their similarity, best first."""
    limit = NEAR_FACTS
    while True:
        hits = await vectors.search_dense(
            reader.tenant, Collection.RELATIONSHIPS, vector, view=View(view.subjects), limit=limit
        )
        near = {RelationshipId(hit.id): hit.score for hit in hits}
        if view.filter:  # the vector store knows readers; sources, which a filter asks for, only the graph
            found = await graph.relationships(reader.tenant, sorted(near), view=view, chunk_limit=1)
            shown = {fact.id for fact in found}
            near = {id_: score for id_, score in near.items() if id_ in shown}
        if len(near) >= NEAR_FACTS or len(hits) < limit:
            return dict(list(near.items())[:NEAR_FACTS])
        limit *= 4
