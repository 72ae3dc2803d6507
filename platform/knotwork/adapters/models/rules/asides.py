"""Parentheses, taken out of their sentences: `Lambert (died 938 in Lucca) was a son of Adalbert`.

A parser trained on news stumbles over what encyclopedias put in brackets after a name. So a sentence is parsed without
its asides, each aside stands on a line of its own below, and both are put together again where a sentence is quoted.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass

_ASIDE = re.compile(r"(?<=[\w\"'’”.])\s*\(([^()\n]{1,300})\)")


@dataclass(frozen=True, slots=True)
class Aside:
    """An aside by offsets into the prose: where its line starts (-1: no words, no line), and where it was cut out."""

    start: int
    cut: int
    source: str  # as it stood, with brackets and the space before


@dataclass(frozen=True, slots=True)
class Prose:
    """The text for the model, a block or an aside a line, and the asides in order of their cuts."""

    text: str
    asides: tuple[Aside, ...]

    def quote(self, start: int, end: int) -> str:
        """The text between two offsets of one line with its asides back in place."""
        cuts = [aside.cut for aside in self.asides]
        pieces: list[str] = []
        for aside in self.asides[bisect_left(cuts, start + 1) : bisect_left(cuts, end)]:
            pieces += [self.text[start : aside.cut], aside.source]
            start = aside.cut
        return "".join([*pieces, self.text[start:end]])


def take_out(lines: Iterable[str]) -> Prose:
    """Lay out lines as prose with every aside moved below its line."""
    laid: list[str] = []
    asides: list[Aside] = []
    offset = 0
    for line in lines:
        kept, cuts = "", list[tuple[int, re.Match[str]]]()
        end = 0
        for match in _ASIDE.finditer(line):
            if line.count('"', 0, match.start()) % 2:
                continue  # `"Echo (You and I)"` is one title
            kept += line[end : match.start()]
            cuts.append((offset + len(kept), match))
            end = match.end()
        kept += line[end:]
        laid.append(kept)
        offset += len(kept) + 1
        for cut, match in cuts:
            words = match[1].strip()
            has_words = any(character.isalpha() for character in words)
            asides.append(Aside(offset if has_words else -1, cut, match[0]))
            if has_words:
                laid.append(words)
                offset += len(words) + 1
    return Prose("\n".join(laid), tuple(asides))
