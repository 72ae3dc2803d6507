"""Names with a style: `Arthur Wellesley, 1st Duke of Wellington`, `Hugh, King of Italy`.

Encyclopedias title their pages so, and histories write so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_RANK: Final = (
    r"(?:King|Queen|Prince|Princess|Emperor|Empress|Duke|Duchess|Count|Countess|Earl|Baron|Baroness|Baronet|Marquess"
    r"|Marquis|Marquise|Viscount|Viscountess|Margrave|Landgrave|Elector|Lord|Lady|Sultan|Tsar|Tsarina|Archduke"
    r"|Archduchess|Infante|Infanta|Dauphin)"
)
_WORD: Final = r"(?:[^\W\d_a-z](?:[\w’'-]*\w)?)"  # a word with a capital, or a numeral
_PART: Final = rf"(?:{_WORD}|[A-Z]\.|St\.|Jr\.)"
_PLACE: Final = rf" of (?:the )?({_WORD}(?:[ -]{_WORD}){{0,3}})"
_STYLED = re.compile(
    rf"(?P<name>{_PART}(?:(?: of| de| von| van)? {_PART}){{0,5}}), (?:the )?(?:"
    rf"[0-9]{{1,2}}(?:st|nd|rd|th) (?P<peer>{_RANK})(?:{_PLACE}|(?: {_WORD}){{1,3}})?"
    rf"|(?:{_WORD} ){{0,2}}(?P<ruler>{_RANK})(?: Palatine| Consort)?{_PLACE}"
    r"|Holy Roman Emp(?:eror|ress))(?!\w)"
)
_RULER = re.compile(rf"({_WORD} (?=[IVX])[IVX]{{1,5}}){_PLACE}")
_ADDRESS = re.compile(rf"(?:Sir|Dame|Major|General|Colonel|Captain|Admiral|Major-General|{_RANK}) (?=[A-Z])")


@dataclass(frozen=True, slots=True)
class StyledName:
    """The name before the comma, and what its style says of it: `king`, `Italy`, or empty strings."""

    name: str
    rank: str
    seat: str


def find_styled(text: str) -> Iterator[tuple[int, int]]:
    """(start, end) of each styled name of a text, without a form of address before it."""
    for match in _STYLED.finditer(text):
        start = match.start()
        while address := _ADDRESS.match(text, start, match.end("name")):
            start = address.end()
        yield start, match.end()


def read_styled(text: str) -> StyledName | None:
    """The parts of a styled name, or None where a text is none."""
    match = _STYLED.fullmatch(text)
    if match is None:
        return None
    rank = match["peer"] or match["ruler"] or ""
    seat = next((group for group in (match[3], match[5]) if group), "")
    return StyledName(match["name"], rank.casefold(), seat)


def ruler_without_land(text: str) -> str:
    """`Lothair II` of `Lothair II of Lotharingia`, or the empty string where a name is none of a ruler."""
    match = _RULER.fullmatch(text)
    return match[1] if match else ""
