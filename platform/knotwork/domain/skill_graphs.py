"""Skill graphs as stored: a declaration in versions, and the present one drawn for people who look at the database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from knotwork.domain.normalise import clean_text
from knotwork.errors import InvalidInput

MAX_NAME_CHARS = 200


@dataclass(frozen=True, slots=True)
class DrawnNode:
    """A skill, or a predicate of a tree (`kind`)."""

    id: str
    kind: str
    label: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class DrawnEdge:
    """A move from one node to another; `from_id` None is the start."""

    from_id: str | None
    to_id: str
    kind: str
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Drawing:
    """The nodes and edges of a compiled graph, in its order; several edges may join two nodes."""

    nodes: Sequence[DrawnNode] = ()
    edges: Sequence[DrawnEdge] = ()


@dataclass(frozen=True, slots=True)
class GraphVersion:
    """One version of a graph: `version` is the SHA-256 of its declaration, `number` counts from 1 as they came."""

    name: str
    version: str
    number: int
    is_current: bool = True


@dataclass(frozen=True, slots=True)
class StoredGraph:
    """A version with its text."""

    version: GraphVersion
    declaration: str


def checked_graph_name(name: str) -> str:
    """A name under which a graph can be stored: any script, but one segment of an address and one line.

    Raises:
        InvalidInput: blank, too long, with a slash, or with characters that print nothing.
    """
    name = clean_text(name)
    if not 1 <= len(name) <= MAX_NAME_CHARS or name != name.strip() or "/" in name or not name.isprintable():
        raise InvalidInput(
            f"{name[:MAX_NAME_CHARS]!r} cannot name a skill graph; use 1 to {MAX_NAME_CHARS} printable characters "
            "without a slash, and no space at either end"
        )
    return name
