"""Where the walk of mode local starts: names standing in the question, facts near it, and chunks that are like it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from knotwork.domain.ids import split_entity_id, split_relationship_id
from knotwork.domain.model import EntityId, RelationshipId, Vector
from knotwork.domain.retrieval import Reader
from knotwork.domain.surroundings import NameSurroundings
from knotwork.ports.graph_store import GraphStore
from knotwork.ports.vector_store import Collection, Hit, VectorStore, View
from knotwork.services.local_walk import chunk_node, name_node

# One set of constants for all data; see local_walk.py.
DENSE_SEEDS = 50  # chunks nearest to the question that the walk starts from; 30 to 100 are alike
KEYWORD_SEEDS = 30  # chunks that share most with its words; 20 to 100 are alike
NEAR_FACTS = 5  # relationships near the question by vector whose ends the walk starts from; 10 and more bring noise
FAR_FACT = 0.6  # similarity up to which a fact that names nothing of the question says nothing of it; 0.5 to 0.7
NAME_WEIGHT = 0.06  # of a name in the question as a start, beside a fact's similarity: many names are mere context
NEAR_ENTITIES = 5  # entities near the question by vector: a name that stands in it in another spelling
NEAR_FLOOR = 0.5  # similarity below which an entity is not what the question means
CHUNK_WEIGHT = 0.06  # of the nearest chunk, alike; 0.05 to 0.07 are alike (HippoRAG 2 has 0.05)
# Of the chunk that shares most with the words. Without it a question that one passage answers loses that passage to
# others about the same names: 43 points of recall on the questions over podcast-1669; 0.05 to 0.07 are alike.
WORDS_WEIGHT = 0.05
LEAST = 1e-6  # of the last of them and those after it: found, so ranked, if nothing else speaks for it


@dataclass(frozen=True, slots=True)
class Seeds:
    """What the question is taken to mean."""

    names: Mapping[str, NameSurroundings]  # that stand in it, the longest first where they overlap
    entities: Mapping[EntityId, float]  # nearest by vector, with their similarity
    facts: Mapping[RelationshipId, float]  # the same
    dense: Sequence[Hit]  # chunks nearest by vector, best first
    keyword: Sequence[Hit]  # chunks that BM25 ranks highest, best first

    @property
    def chunks(self) -> dict[str, float]:
        """The weight of each chunk that is like the question.

        Of BM25's the square counts: a passage that holds the rare words of a question stands out there, and those
        that hold one of them are many.
        """
        found = {id_: CHUNK_WEIGHT * share for id_, share in prior(self.dense).items()}
        for id_, share in prior(self.keyword, share_alike=True).items():
            found[id_] = found.get(id_, 0.0) + WORDS_WEIGHT * share**2
        return found

    @property
    def fact_ends(self) -> dict[str, float]:
        """The names at the ends of the facts, each with the similarities of its facts added up.

        Where a corpus says nothing of the question, the nearest facts are of other things: one that names nothing of
        the question must be very near to count.
        """
        found: defaultdict[str, float] = defaultdict(float)
        for id_, similarity in self.facts.items():
            from_id, _, to_id = split_relationship_id(id_)
            ends = {split_entity_id(from_id)[1], split_entity_id(to_id)[1]}
            weight = similarity if ends & self.names.keys() else (similarity - FAR_FACT) / (1 - FAR_FACT)
            for name in sorted(ends):
                found[name] += max(weight, 0.0)
        return dict(found)

    @property
    def near_names(self) -> dict[str, float]:
        """The names of the entities near the question, each with the similarity of the nearest of its types."""
        found: dict[str, float] = {}
        for id_, similarity in self.entities.items():
            found.setdefault(split_entity_id(id_)[1], similarity)
        return found

    def starts(self, known: Mapping[str, NameSurroundings]) -> dict[str, float]:
        """The weight of each node that the walk starts from; a name that many chunks mention says little.

        Args:
            known: The visible names among those looked for, with their mentions.
        """
        weights = self.fact_ends
        for name in self.names:
            weights[name] = weights.get(name, 0.0) + NAME_WEIGHT
        for name, similarity in self.near_names.items():
            weights[name] = weights.get(name, 0.0) + NAME_WEIGHT * similarity
        found = {
            name_node(name): weight / known[name].mentions
            for name, weight in weights.items()
            if weight > 0 and name in known
        }
        return found | {chunk_node(id_): weight for id_, weight in self.chunks.items()}


def prior(hits: Sequence[Hit], *, share_alike: bool = False) -> dict[str, float]:
    """Chunks as starts, by how well they rank: 1 for the first, next to nothing for the last: the tail is light.

    Those beyond DENSE_SEEDS change nothing for the others: they follow, in their order, for whoever wants as many.

    Args:
        hits: Best first.
        share_alike: Whether hits of one score share the 1 among them, as nothing tells them apart; else each has 1.
    """
    if not hits:
        return {}
    near = hits[:DENSE_SEEDS]
    best, least = near[0].score, near[-1].score
    alike = 1 / len(near) if share_alike else 1.0
    found = {hit.id: max((hit.score - least) / (best - least), LEAST) if best > least else alike for hit in near}
    beyond = enumerate(hits[DENSE_SEEDS:], start=2)
    return found | {hit.id: LEAST / place for place, hit in beyond}


async def near_facts(
    graph: GraphStore, vectors: VectorStore, reader: Reader, view: View, vector: Vector
) -> dict[RelationshipId, float]:
    """The visible relationships nearest to the question, with their similarity, best first."""

    async def shown(ids: Sequence[str]) -> set[str]:
        found = await graph.relationships(reader.tenant, [RelationshipId(id_) for id_ in ids], view=view, chunk_limit=1)
        return {fact.id for fact in found}

    hits = await _nearest(vectors, reader, Collection.RELATIONSHIPS, view, vector, NEAR_FACTS, None, shown)
    return {RelationshipId(hit.id): hit.score for hit in hits}


async def near_entities(
    graph: GraphStore, vectors: VectorStore, reader: Reader, view: View, vector: Vector
) -> dict[EntityId, float]:
    """The visible entities nearest to the question, with their similarity, best first; none is far from it."""
    return await nearest_entities(graph, vectors, reader, view, vector, limit=NEAR_ENTITIES, floor=NEAR_FLOOR)


async def nearest_entities(
    graph: GraphStore, vectors: VectorStore, reader: Reader, view: View, vector: Vector, *, limit: int, floor: float
) -> dict[EntityId, float]:
    """The visible entities nearest to a vector, with their similarity ≥ `floor`, best first; `limit` at most."""

    async def shown(ids: Sequence[str]) -> set[str]:
        found = await graph.entities(reader.tenant, [EntityId(id_) for id_ in ids], view=view)
        return {entity.id for entity in found}

    hits = await _nearest(vectors, reader, Collection.ENTITIES, view, vector, limit, floor, shown)
    return {EntityId(hit.id): hit.score for hit in hits}


async def _nearest(
    vectors: VectorStore,
    reader: Reader,
    collection: Collection,
    view: View,
    vector: Vector,
    wanted: int,
    floor: float | None,
    shown: Callable[[Sequence[str]], Awaitable[set[str]]],
) -> list[Hit]:
    """The nearest points of the graph; what a filter on sources shows of them, the graph alone knows."""
    limit = wanted
    while True:
        hits = await vectors.search_dense(
            reader.tenant,
            collection,
            vector,
            view=View(view.subjects),
            limit=limit,
            min_score=floor,
            with_payload=False,
        )
        if not view.filter:
            return hits
        visible = await shown([hit.id for hit in hits])
        found = [hit for hit in hits if hit.id in visible]
        if len(found) >= wanted or len(hits) < limit:
            return found[:wanted]
        limit *= 4
