"""Mode local: from the question's entities through the graph to the chunks that assert it, joined with dense hits."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import log2
from typing import TypeVar

from knotwork.domain.graph_views import EntityView, RelationshipView
from knotwork.domain.ids import split_entity_id, split_relationship_id
from knotwork.domain.model import ChunkId, EntityId, Passage, RelationshipId, Vector
from knotwork.domain.normalise import normalise_name
from knotwork.domain.pagerank import personalised_pagerank
from knotwork.domain.retrieval import Reader, RetrievalResult, RetrieveOptions, Scored, checked_query
from knotwork.ports.graph_store import GraphStore
from knotwork.ports.models import Embedder
from knotwork.ports.vector_store import Collection, Hit, VectorStore, View
from knotwork.services.access import answer_soon
from knotwork.services.passages import passages_for, view_of

Id = TypeVar("Id", EntityId, RelationshipId)

GRAPH_S = 10.0  # how long the graph may take for the first question before it counts as away
NAME_WORDS = 10  # words of a name looked for in the question, at most
DENSE_SEEDS = 100  # chunks near the question that the walk starts from; 20 cost two points of recall on musique-60
NEAR_ENTITIES = 10  # entities near the question by vector
NEAR_FACTS = 5  # relationships near the question by vector
NEAR_FLOOR = 0.5  # similarity below which a name or a fact is not what the question means
NEIGHBOURS = 40  # relationships read of each entity, the heaviest first
CHUNKS_OF_FACT = 5  # chunks read of each relationship
CHUNKS_OF_ENTITY = 20  # chunks read of each entity
ENTITY_SHARE, CHUNK_SHARE = 0.6, 0.4  # of the walk's starts: entities lead, dense hits keep a prior
EXPLAINED = 8  # entities and relationships shown with a passage, at most


@dataclass(slots=True)
class Walk:
    """The part of the graph read for one question."""

    edges: list[tuple[str, str, float]] = field(default_factory=list[tuple[str, str, float]])
    relationships: dict[RelationshipId, RelationshipView] = field(
        default_factory=dict[RelationshipId, RelationshipView]
    )
    entities_of: defaultdict[ChunkId, set[EntityId]] = field(default_factory=lambda: defaultdict(set))
    facts_of: defaultdict[ChunkId, set[RelationshipId]] = field(default_factory=lambda: defaultdict(set))


class LocalRetriever:
    """Personalised PageRank over entities and chunks around the question; scores are 1 for the best."""

    def __init__(self, graph: GraphStore, vectors: VectorStore, embedder: Embedder) -> None:
        self._graph, self._vectors, self._embedder = graph, vectors, embedder

    async def retrieve(self, reader: Reader, query: str, options: RetrieveOptions) -> tuple[Passage, ...]:
        return (await self.retrieve_with_usage(reader, query, options)).passages

    async def retrieve_with_usage(self, reader: Reader, query: str, options: RetrieveOptions) -> RetrievalResult:
        query, view = checked_query(query), view_of(reader, options)
        embeddings = await self._embedder.embed([query], purpose="query")
        vector = embeddings.vectors[0]
        named, near, facts, dense = await asyncio.gather(
            answer_soon(self._graph.entities_named(reader.tenant, names_in(query), view=view), within_s=GRAPH_S),
            self._near_entities(reader, view, vector),
            self._near_facts(reader, view, vector),
            self._vectors.search_dense(
                reader.tenant, Collection.CHUNKS, vector, view=view, limit=max(DENSE_SEEDS, options.top_k)
            ),
        )
        seeds = await self._entity_seeds(reader, view, longest_names(named), near, facts)
        walk = await self._walk(reader, view, sorted(seeds))
        rank = personalised_pagerank(walk.edges, _starts(seeds, dense))
        ranked = _ranked_chunks(rank, walk, dense)
        extra = {hit.id: _explanation(walk, hit.id, rank) for hit in ranked[: options.top_k * 2]}
        passages = await passages_for(self._vectors, reader, options, ranked, query_vector=vector, extra=extra)
        return RetrievalResult(passages, embeddings.usage)

    async def _near_entities(self, reader: Reader, view: View, vector: Vector) -> dict[EntityId, float]:
        """The entities nearest to the question that the view shows, with their similarity."""

        async def visible(ids: Sequence[str]) -> list[EntityId]:
            if not view.filter:  # the vector store knows readers; sources, which a filter asks for, only the graph
                return [EntityId(id_) for id_ in ids]
            found = await self._graph.entities(reader.tenant, [EntityId(id_) for id_ in ids], view=view)
            return [entity.id for entity in found]

        return await self._nearest(reader, view, vector, Collection.ENTITIES, NEAR_ENTITIES, visible)

    async def _near_facts(self, reader: Reader, view: View, vector: Vector) -> dict[RelationshipId, float]:
        """The relationships nearest to the question that the view shows, with their similarity."""

        async def visible(ids: Sequence[str]) -> list[RelationshipId]:
            if not view.filter:
                return [RelationshipId(id_) for id_ in ids]
            found = await self._graph.relationships(
                reader.tenant, [RelationshipId(id_) for id_ in ids], view=view, chunk_limit=1
            )
            return [fact.id for fact in found]

        return await self._nearest(reader, view, vector, Collection.RELATIONSHIPS, NEAR_FACTS, visible)

    async def _nearest(
        self,
        reader: Reader,
        view: View,
        vector: Vector,
        collection: Collection,
        wanted: int,
        visible: Callable[[Sequence[str]], Awaitable[list[Id]]],
    ) -> dict[Id, float]:
        """The `wanted` nearest that are visible, best first."""
        limit = wanted
        while True:
            hits = await self._vectors.search_dense(
                reader.tenant, collection, vector, view=View(view.subjects), limit=limit, min_score=NEAR_FLOOR
            )
            shown = set(await visible([hit.id for hit in hits]))
            if len(shown) >= wanted or len(hits) < limit:
                near = {id_: hit.score for hit in hits for id_ in shown if id_ == hit.id}
                return dict(list(near.items())[:wanted])
            limit *= 4

    async def _entity_seeds(
        self,
        reader: Reader,
        view: View,
        named: Sequence[EntityView],
        near: Mapping[EntityId, float],
        facts: Mapping[RelationshipId, float],
    ) -> dict[EntityId, float]:
        """Weight of each entity that the question means; a name that many chunks hold says little."""
        similarity: defaultdict[EntityId, float] = defaultdict(float, near)
        for fact_id, score in facts.items():
            from_id, _, to_id = split_relationship_id(fact_id)
            for end in (from_id, to_id):
                similarity[end] = max(similarity[end], score)
        for entity in named:
            similarity[entity.id] = 1.0
        visible = await self._graph.entities(reader.tenant, sorted(similarity), view=view)
        return {entity.id: similarity[entity.id] / log2(1 + entity.mentions) for entity in visible}

    async def _walk(self, reader: Reader, view: View, seeds: Sequence[EntityId]) -> Walk:
        """The seeds' relationships, and the chunks of both."""
        walk = Walk()
        relationships = await self._graph.relationships_of(
            reader.tenant, seeds, view=view, limit=NEIGHBOURS, chunk_limit=CHUNKS_OF_FACT
        )
        for fact in relationships:
            walk.relationships[fact.id] = fact
            walk.edges.append((fact.from_id, fact.to_id, float(fact.weight)))
            for chunk_id in fact.chunks:
                walk.facts_of[chunk_id].add(fact.id)
                walk.entities_of[chunk_id].update((fact.from_id, fact.to_id))
        reached = sorted({end for fact in relationships for end in (fact.from_id, fact.to_id)} | set(seeds))
        naming = await self._graph.chunks_naming(reader.tenant, reached, view=view, limit=CHUNKS_OF_ENTITY)
        for entity_id, chunk_ids in naming.items():
            for chunk_id in chunk_ids:
                walk.entities_of[chunk_id].add(entity_id)
        for chunk_id, entity_ids in walk.entities_of.items():
            walk.edges += [(entity_id, chunk_id, 1.0) for entity_id in entity_ids]
        return walk


def names_in(question: str) -> list[str]:
    """Every run of up to ten words of the question, normalised: the names that may stand in it."""
    words = [word for part in question.split() for word in normalise_name(part).split()]
    return [
        " ".join(words[start:end])
        for start in range(len(words))
        for end in range(start + 1, min(len(words), start + NAME_WORDS) + 1)
    ]


def longest_names(named: Iterable[EntityView]) -> list[EntityView]:
    """Entities whose name is not part of a longer name found in the question."""
    entities = list(named)
    names = {_name_of(entity.id) for entity in entities}

    def within_another(name: str) -> bool:
        return any(f" {name} " in f" {other} " for other in names if other != name)

    return [entity for entity in entities if not within_another(_name_of(entity.id))]


def _name_of(id_: EntityId) -> str:
    return split_entity_id(id_)[1]


def _starts(seeds: Mapping[EntityId, float], dense: Sequence[Hit]) -> dict[str, float]:
    starts: dict[str, float] = {}
    entity_total = sum(seeds.values())
    for entity_id, weight in seeds.items():
        starts[entity_id] = ENTITY_SHARE * weight / entity_total
    weights = _prior(dense)
    chunk_total = sum(weights.values())
    for chunk_id, weight in weights.items():
        starts[chunk_id] = CHUNK_SHARE * weight / chunk_total
    return starts


def _prior(dense: Sequence[Hit]) -> dict[str, float]:
    """Dense hits as starts, the best 1 and the last near 0, so that the tail of a flat ranking weighs little."""
    if not dense:
        return {}
    best, least = dense[0].score, dense[-1].score
    spread = best - least
    return {hit.id: ((hit.score - least) / spread if spread > 0 else 1.0) ** 2 + 1e-6 for hit in dense}


def _ranked_chunks(rank: Mapping[str, float], walk: Walk, dense: Sequence[Hit]) -> list[Scored]:
    chunk_ids = walk.entities_of.keys() | {ChunkId(hit.id) for hit in dense}
    best = max((rank.get(chunk_id, 0.0) for chunk_id in chunk_ids), default=0.0)
    scored = [Scored(chunk_id, rank[chunk_id] / best) for chunk_id in chunk_ids if rank.get(chunk_id, 0.0) > 0]
    return sorted(scored, key=lambda hit: (-hit.score, hit.id))


def _explanation(walk: Walk, chunk_id: ChunkId, rank: Mapping[str, float]) -> dict[str, object]:
    """The entities and relationships that led to a chunk, the strongest first."""
    entities = sorted(walk.entities_of.get(chunk_id, ()), key=lambda id_: (-rank.get(id_, 0.0), id_))
    facts = [walk.relationships[id_] for id_ in sorted(walk.facts_of.get(chunk_id, ()))]
    facts.sort(key=lambda fact: (-rank.get(fact.from_id, 0.0) - rank.get(fact.to_id, 0.0), fact.id))
    return {
        "entities": [str(id_) for id_ in entities[:EXPLAINED]],
        "relationships": [
            {"id": fact.id, "from": fact.from_name, "type": fact.type, "to": fact.to_name} for fact in facts[:EXPLAINED]
        ],
    }
