"""What a walk over the graph sees around a name and around a chunk, as the visible evidence shows it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from knotwork.domain.model import ChunkId, EntityId, RelationshipId
from knotwork.domain.normalise import normalise_name

_ASIDE = re.compile(r"\([^()]*\)")


@dataclass(frozen=True, slots=True)
class NameSurroundings:
    """A normalised name, with what is tied to its entities of whatever type.

    `mentions` adds up the visible chunks that mention each of the entities. A name with more of them than was asked
    for is a hub: then `chunks`, `about` and `facts` are empty, however many there are.
    """

    name: str
    mentions: int
    entities: tuple[EntityId, ...]  # visible, sorted
    chunks: tuple[ChunkId, ...] = ()  # visible chunks that mention one of them, sorted
    about: tuple[ChunkId, ...] = ()  # those of them whose title or innermost heading is the name
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


def is_about(name: str, title: str, headings: Sequence[str]) -> bool:
    """Whether a chunk stands under the name: it is the title, apart from words in parentheses, or the last heading."""
    return any(name in _names_of(text) for text in (title, *headings[-1:]))


@lru_cache(maxsize=65_536)  # a walk meets the same titles again and again
def _names_of(title: str) -> tuple[str, str]:
    return normalise_name(title), normalise_name(_ASIDE.sub(" ", title))
