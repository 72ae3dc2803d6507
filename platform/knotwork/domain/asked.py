"""Which relationship a question asks for, and which way, by its words alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from knotwork.domain.normalise import normalise_name
from knotwork.domain.paths import Direction

_ENDINGS = ("ing", "ed", "es", "s", "e")
_LEAST = 3  # letters of a word that can name a relationship
_PASSIVE = "by"


def words_of(text: str) -> list[str]:
    """The words of a text as names are compared."""
    return [word for part in text.split() for word in normalise_name(part).split()]


def asked_types(question: str, name: str, types: Iterable[str]) -> Mapping[Direction, frozenset[str]]:
    """The types of relationship, of those given, that the question names, by the way in which it follows them.

    `What depends on X?` follows `depends-on` against its direction, to what points at X; `What does X depend on?` with
    it; a type in the passive (`directed-by`) the other way round, unless the question is in the passive, too.

    Args:
        question: In plain words.
        name: The normalised name that it asks about.
        types: Normalised types of relationship.
    """
    words = words_of(question)
    at = _place(words, name.split())
    found: dict[Direction, set[str]] = {}
    for type_ in types:
        first, *rest = type_.split("-")
        stem = _stem(first)
        places = [place for place, word in enumerate(words) if len(stem) >= _LEAST and _stem(word) == stem]
        outside = [place for place in places if not at <= place < at + len(name.split())]
        if not outside:
            continue
        place = outside[0]
        is_inverse = place < at
        if (_PASSIVE in rest) != (_PASSIVE in words[place + 1 : place + 3]):
            is_inverse = not is_inverse
        found.setdefault(Direction.IN if is_inverse else Direction.OUT, set()).add(type_)
    return {direction: frozenset(types_) for direction, types_ in found.items()}


def place_of(question: str, name: str) -> int:
    """Where a normalised name stands in a question, in words; -1: nowhere."""
    return _place(words_of(question), name.split())


def _place(words: list[str], name: list[str]) -> int:
    return next((at for at in range(len(words)) if words[at : at + len(name)] == name), -1)


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST:
            return word.removesuffix(ending)
    return word
