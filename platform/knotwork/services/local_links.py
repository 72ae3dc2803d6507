"""Links between a name in the question and names spelt nearly alike, found by vector while the question is asked.

They are never stored: what a chunk contributes must not depend on other documents. Nor are they starts of the walk:
what is merely near a name drowned it when both started (4 to 10 points of recall on musique-60 and 2wiki-51).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from knotwork.domain.ids import split_entity_id
from knotwork.domain.model import EntityId
from knotwork.domain.near_names import are_near
from knotwork.domain.retrieval import Reader
from knotwork.domain.surroundings import NameSurroundings
from knotwork.ports.graph_store import GraphStore
from knotwork.ports.vector_store import Collection, VectorStore, View
from knotwork.services.local_seeds import nearest_entities

# One set of constants for all data; see local_walk.py.
LINKED_NAMES = 4  # names of the question that are looked up, those with fewest mentions: a search each
NEIGHBOURS = 12  # entities read at each search
LINK_FLOOR = 0.7  # similarity below which two names are not one, however alike they are written


@dataclass(frozen=True, slots=True)
class NearName:
    """A name spelt nearly like one in the question, and their similarity."""

    name: str
    near: str
    similarity: float


async def near_links(
    graph: GraphStore, vectors: VectorStore, reader: Reader, view: View, names: Mapping[str, NameSurroundings]
) -> list[NearName]:
    """The visible names that are nearly equal to these names of the question, by both names."""
    fewest = sorted(names.values(), key=lambda one: (one.mentions, one.name))[:LINKED_NAMES]
    # A filter on sources is the graph's: it reads nothing of an entity's point, and these are visible, as it said.
    points = await vectors.fetch(
        reader.tenant,
        Collection.ENTITIES,
        [one.entities[0] for one in fewest],
        view=View(view.subjects),
        with_vectors=True,
    )
    found = await asyncio.gather(
        *(
            nearest_entities(graph, vectors, reader, view, point.vector, limit=NEIGHBOURS, floor=LINK_FLOOR)
            for point in points
            if point.vector is not None
        )
    )
    ids: dict[tuple[str, str], EntityId] = {}
    links: dict[tuple[str, str], float] = {}
    for point, near in zip([point for point in points if point.vector is not None], found, strict=True):
        name = split_entity_id(point.id)[1]
        for id_, similarity in near.items():  # of a name's types the nearest counts
            pair = name, split_entity_id(id_)[1]
            if pair not in ids and are_near(*pair):
                ids[pair], links[pair] = id_, similarity
    # Points follow the graph: for a moment they may show what the graph hides already.
    shown = {one.id for one in await graph.entities(reader.tenant, sorted(ids.values()), view=view)} if ids else set()
    return [NearName(*pair, similarity) for pair, similarity in sorted(links.items()) if ids[pair] in shown]
