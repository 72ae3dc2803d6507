"""How the passages of an answer hang together: the facts from the question on, and the names that join documents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from knotwork.domain.ids import split_entity_id
from knotwork.domain.model import EntityId
from knotwork.domain.normalise import normalise_name

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Link:
    """A fact that led to passages: how many steps from what the question names, and the passages that state it."""

    hops: int
    subject: str
    type: str
    object: str
    citations: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Joint:
    """A name that stands in passages of several documents, and so joins them."""

    name: str
    citations: tuple[int, ...]


def links(question: str, passages: Sequence[Json], *, limit: int = 6) -> list[Link]:
    """The facts of the passages that hang on a name in the question, nearest first, at most `limit`."""
    stated: dict[tuple[str, ...], Json] = {}
    citations: defaultdict[tuple[str, ...], set[int]] = defaultdict(set)
    for passage in passages:
        for fact in passage["metadata"].get("relationships") or ():
            key = (normalise_name(fact["from"]), fact["type"], normalise_name(fact["to"]))  # under whatever types
            stated.setdefault(key, fact)
            citations[key].add(passage["citation"])
    found: list[Link] = []
    known = {name for fact in stated.values() for name in _ends(fact) if _is_named(name, question)}
    hops = 0
    while near := [key for key, fact in stated.items() if known & _ends(fact)]:
        reached: set[str] = set()
        for key in near:
            fact = stated.pop(key)
            found.append(Link(hops, fact["from"], fact["type"], fact["to"], tuple(sorted(citations[key]))))
            reached |= _ends(fact)
        known |= reached
        hops += 1
    return found[:limit]


def joints(passages: Sequence[Json], *, limit: int = 4) -> list[Joint]:
    """The names that join most documents first, then by name; at most `limit`."""
    places: defaultdict[str, set[int]] = defaultdict(set)
    documents: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
    for passage in passages:
        source = passage["source"]
        for id_ in passage["metadata"].get("entities") or ():
            name = split_entity_id(EntityId(id_))[1]
            places[name].add(passage["citation"])
            documents[name].add((source["type"], source["id"]))
    joining = sorted((name for name in documents if len(documents[name]) > 1), key=lambda n: (-len(documents[n]), n))
    return [Joint(name, tuple(sorted(places[name]))) for name in joining[:limit]]


def _ends(fact: Json) -> set[str]:
    return {normalise_name(fact["from"]), normalise_name(fact["to"])}


def _is_named(name: str, question: str) -> bool:
    words = " ".join(part for part in map(normalise_name, question.split()) if part)
    return bool(name) and f" {name} " in f" {words} "
