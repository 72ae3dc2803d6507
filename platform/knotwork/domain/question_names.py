"""Names that may stand in a question: every run of its words that could be one, in scripts with and without spaces."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from knotwork.domain.normalise import normalise_name

NAME_WORDS = 10  # of a name, at most; of 19,059 names recorded of musique-60, 99.4 % have no more
NAME_CHARS = 24  # of a name in a script without spaces, at most
MAX_RUNS = 5_000  # looked for in one question: each costs the graph a look-up
_LEAST_UNITS = 2  # of the longest name looked for, words or characters, however long the question
_PIECE_CHARS = 200  # read at once: a normalised name is empty beyond 256

# Scripts in which a name may begin and end within a run of letters: those written without spaces (Thai, Lao, Myanmar,
# Khmer, Japanese, Chinese) and Hangul, whose particles stand on the noun (서울의: of 서울).
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7a3\uf900-\ufaff\U00020000-\U000323af]"
)
_UNITS = re.compile(f"{_UNSPACED.pattern}|[^{_UNSPACED.pattern[1:-1]}]+")


@dataclass(frozen=True, slots=True)
class Span:
    """A run of a question that may be a name: the name, normalised, and which units of the question it takes."""

    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Unit:
    """A word, or one character of a script without spaces; `is_first` when it begins a word."""

    text: str
    is_first: bool
    is_word: bool


def names_in(question: str) -> list[Span]:
    """Every run of the question that may be a name: at most a fixed number at each place, so in linear time.

    A run is up to ten words, or up to 24 characters where a script has no spaces. One such character within a word is
    no name: it is nearly always part of another. A leading article is left out, as it is of stored names. In a text of
    over 500 words (200 characters without spaces) only shorter names are found, down to _LEAST_UNITS, so that runs are
    MAX_RUNS at most; what comes after 2,500 units is not looked at.
    """
    units = list(_units(question))[: MAX_RUNS // _LEAST_UNITS]
    longest = MAX_RUNS // max(1, len(units))
    return [
        Span(name, start, end)
        for start in range(len(units))
        for end in _ends(units, start, longest)
        if (name := _joined(units[start:end]))
    ]


def longest_first(spans: Sequence[Span], known: Collection[str]) -> list[Span]:
    """The known names in the question, the longest first; no two take the same words.

    Args:
        spans: Of one question, as `names_in` gave them.
        known: Names that exist; a set.
    Returns:
        In the order of the question. Of equally long names that overlap, the one further left.
    """
    taken: set[int] = set()
    chosen: list[Span] = []
    for span in sorted(spans, key=lambda one: (one.start - one.end, one.start)):
        places = range(span.start, span.end)
        if span.name in known and taken.isdisjoint(places):
            taken.update(places)
            chosen.append(span)
    return sorted(chosen, key=lambda one: one.start)


def _units(question: str) -> Iterator[_Unit]:
    for part in question.split():
        is_first = True
        for start in range(0, len(part), _PIECE_CHARS):
            for word in normalise_name(part[start : start + _PIECE_CHARS]).split():
                for unit in _UNITS.findall(word):
                    yield _Unit(unit, is_first, _UNSPACED.match(unit) is None)
                    is_first = False
                is_first = True


def _ends(units: Sequence[_Unit], start: int, longest: int) -> Iterator[int]:
    """Where a name that starts here may end."""
    words = 0
    for end in range(start + 1, min(len(units), start + min(longest, NAME_CHARS)) + 1):
        words += units[end - 1].is_first or units[end - 1].is_word
        if words > NAME_WORDS:
            return
        is_lone = end == start + 1 and not units[start].is_word
        if is_lone and not (units[start].is_first and (end == len(units) or units[end].is_first)):
            continue
        yield end


def _joined(units: Sequence[_Unit]) -> str:
    first, *others = units
    return first.text + "".join(f" {unit.text}" if unit.is_first else unit.text for unit in others)
