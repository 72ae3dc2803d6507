"""Mode paths: the passages that assert, hop by hop, how the entities that a question names are tied to each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from knotwork.domain.asked import asked_types
from knotwork.domain.graph_views import EntityView, RelationshipView
from knotwork.domain.ids import split_entity_id
from knotwork.domain.model import ChunkId, Passage
from knotwork.domain.paths import Direction
from knotwork.domain.retrieval import Reader, RetrievalResult, RetrieveOptions, checked_query
from knotwork.ports.vector_store import Collection, VectorStore, View
from knotwork.services.naming import Naming
from knotwork.services.passages import passage_from, view_of
from knotwork.services.paths import MAX_ENDS, PathFinder, Paths, Reach

HOPS = 4
PATHS = 10  # of each pair
ASKED_DEPTH = 5  # steps of a relationship that the question names: directly or not
ANY_DEPTH = 2  # steps where it names none
SHOWN = 3  # paths shown with a passage


@dataclass(frozen=True, slots=True)
class Way:
    """A sequence of relationships with its score, whoever found it."""

    score: float
    hops: tuple[RelationshipView, ...]


class PathsRetriever:
    """The chunks of the best paths; a score is that of the best path that a chunk asserts part of, 1 for a direct one.

    Between two or more entities that the question names: paths of up to 4 hops in either direction. Of one entity:
    what it is tied to, over the relationship that the question names (`what depends on X?`) or over any.
    """

    def __init__(self, naming: Naming, finder: PathFinder, vectors: VectorStore) -> None:
        self._naming, self._finder, self._vectors = naming, finder, vectors

    async def retrieve(self, reader: Reader, query: str, options: RetrieveOptions) -> tuple[Passage, ...]:
        """As `Retriever.retrieve`; nothing where the question names no entity that the reader may see.

        Raises:
            AmbiguousName: a name has several types, and the question does not say which is meant.
            LimitReached: the search took too long.
        """
        query, view = checked_query(query), view_of(reader, options)
        named = await self._naming.in_question(reader, query, view=view)
        if len(named) > MAX_ENDS:  # the rarest names say most
            rarest = sorted(named, key=lambda one: (one.mentions, one.id))[:MAX_ENDS]
            named = [one for one in named if one in rarest]
        if not named:
            return ()
        if len(named) == 1:
            ways = await self._ways_from(reader, query, named[0], view)
        else:
            ways = ways_of(await self._finder.between(reader, named, view=view, hops=HOPS, count=PATHS))
        return await passages_of(self._vectors, reader, options, ways)

    async def retrieve_with_usage(self, reader: Reader, query: str, options: RetrieveOptions) -> RetrievalResult:
        """As `retrieve`; no model is asked."""
        return RetrievalResult(await self.retrieve(reader, query, options))

    async def _ways_from(self, reader: Reader, query: str, entity: EntityView, view: View) -> list[Way]:
        types = await self._finder.types_at(reader, entity.id, view=view)
        asked = asked_types(query, split_entity_id(entity.id)[1], types)
        if not asked:
            return ways_to(await self._finder.reach(reader, entity, view=view, depth=ANY_DEPTH))
        ways: list[Way] = []
        for direction in sorted(asked):
            ways += ways_to(
                await self._finder.reach(
                    reader,
                    entity,
                    view=view,
                    types=sorted(asked[direction]),
                    direction=Direction(direction),
                    depth=ASKED_DEPTH,
                )
            )
        return ways


def ways_of(found: Paths) -> list[Way]:
    """Paths as ways."""
    return [Way(path.score, path.hops) for path in found.paths]


def ways_to(found: Reach) -> list[Way]:
    """The way to each entity reached, from the entity asked about; its score is 1 over its length."""
    by_entity = {one.entity.id: one for one in found.reached}
    ways: list[Way] = []
    for one in found.reached:
        hops, at = [one.hop], one.via
        while at in by_entity:
            hops.append(by_entity[at].hop)
            at = by_entity[at].via
        ways.append(Way(1 / one.depth, tuple(reversed(hops))))
    return ways


async def passages_of(
    vectors: VectorStore, reader: Reader, options: RetrieveOptions, ways: Sequence[Way]
) -> tuple[Passage, ...]:
    """The first `top_k` passages that assert a hop of these ways, of score ≥ min_score; best first, ties by id."""
    scores: dict[ChunkId, float] = {}
    facts: defaultdict[ChunkId, dict[str, RelationshipView]] = defaultdict(dict)
    ways_of_chunk: defaultdict[ChunkId, list[Way]] = defaultdict(list)
    for way in sorted(ways, key=lambda way: (-way.score, [hop.id for hop in way.hops])):
        for hop in way.hops:
            for chunk in hop.chunks:
                scores.setdefault(chunk, way.score)
                facts[chunk][hop.id] = hop
                if way not in ways_of_chunk[chunk]:
                    ways_of_chunk[chunk].append(way)
    floor = options.min_score
    ranked = sorted(
        (id_ for id_, score in scores.items() if floor is None or score >= floor), key=lambda id_: (-scores[id_], id_)
    )
    points = await vectors.fetch(
        reader.tenant, Collection.CHUNKS, ranked[: options.top_k * 2], view=view_of(reader, options)
    )
    return tuple(
        passage_from(
            point.id,
            point.payload,
            scores[ChunkId(point.id)],
            relationships=[fact_of(fact) for fact in facts[ChunkId(point.id)].values()],
            paths=[[fact_of(hop) for hop in way.hops] for way in ways_of_chunk[ChunkId(point.id)][:SHOWN]],
        )
        for point in points[: options.top_k]
    )


def fact_of(hop: RelationshipView) -> Mapping[str, str]:
    """A relationship in short, as passages carry it."""
    return {"id": hop.id, "from": hop.from_name, "type": hop.type, "to": hop.to_name}
