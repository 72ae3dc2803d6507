"""What a walk over the graph sees around a name and around a chunk, as the visible evidence shows it."""

from __future__ import annotations

from dataclasses import dataclass

from knotwork.domain.model import ChunkId, EntityId, RelationshipId


@dataclass(frozen=True, slots=True)
class NameSurroundings:
    """A normalised name, with what is tied to its entities of whatever type.

    `mentions` adds up the visible chunks that mention each of the entities. A name with more of them than was asked
    for is a hub: then `chunks` and `facts` are empty, however many there are.
    """

    name: str
    mentions: int
    entities: tuple[EntityId, ...]  # visible, sorted
    chunks: tuple[ChunkId, ...] = ()  # visible chunks that mention one of them, sorted
    facts: tuple[tuple[RelationshipId, int], ...] = ()  # visible relationships of one of them and their weights, by id


@dataclass(frozen=True, slots=True)
class ChunkSurroundings:
    """A visible chunk, and the entities that it mentions, by id, with the visible chunks that mention each."""

    id: ChunkId
    entities: tuple[tuple[EntityId, int], ...]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is around some names and chunks; names by name, chunks by id, none that the view does not show."""

    names: tuple[NameSurroundings, ...] = ()
    chunks: tuple[ChunkSurroundings, ...] = ()
