"""Paragraphs and sentences as spans of a text: simple rules for any script, the same answer on every run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeAlias

from knotwork.domain.graphemes import is_boundary, next_boundary, previous_boundary

Span: TypeAlias = tuple[int, int]  # [start, end) in characters

_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n)+")
_CLOSERS = "\"'’”»›)\\]}」』】）〉》"
# Latin, Greek, Cyrillic, Arabic, Armenian and Ethiopic ends need white space after them; full-width, Indic, Khmer,
# Burmese and Tibetan ones do not. The look-behind starts a match at the first sign of a run only: linear time.
_SENTENCE_END = re.compile(
    rf"(?<![.!?…])[.!?…‽؟۔։።፧]++[{_CLOSERS}]*+(?=\s)\s*+|[。！？｡．।॥។၊။༎]++[{_CLOSERS}]*+\s*+",
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|Mt|Jr|Sr|Gen|Col|Capt|Lt|Rev|Hon|vs|cf|ca|e\.g|i\.e|etc|al|Fig|Figs|Eq|Vol|pp)"
    r"|\b[^\W\d_])\.$"
)
_LONGEST_ABBREVIATION = 8  # characters looked at before a full stop


def paragraphs(text: str, start: int, end: int) -> Iterator[Span]:
    """The paragraphs of text[start:end], parted by blank lines, without white space around them; none is empty."""
    at = start
    for gap in _BLANK_LINES.finditer(text, start, end):
        yield from trimmed(text, at, gap.start())
        at = gap.end()
    yield from trimmed(text, at, end)


def sentences(text: str, start: int, end: int) -> Iterator[Span]:
    """The sentences of text[start:end], a paragraph, without white space around them; a cut never splits a grapheme.

    A full stop does not end a sentence after an initial or a common English abbreviation, nor before a lower-case
    letter.
    """
    at = start
    for stop in _SENTENCE_END.finditer(text, start, end):
        cut = stop.end()
        if cut >= end or not is_boundary(text, cut, since=at) or _goes_on(text, stop.start(), cut, at):
            continue
        yield from trimmed(text, at, cut)
        at = cut
    yield from trimmed(text, at, end)


def trimmed(text: str, start: int, end: int) -> Iterator[Span]:
    """text[start:end], cut at grapheme boundaries, without the white space around it; nothing where nothing is left.

    White space that carries a combining mark is part of a grapheme, and stays.
    """
    piece = text[start:end]
    left = start + len(piece) - len(piece.lstrip())
    right = start + len(piece.rstrip())
    if left < right:
        yield previous_boundary(text, left, since=start), min(next_boundary(text, right, since=left), end)


def _goes_on(text: str, stop: int, cut: int, since: int) -> bool:
    if text[stop] not in ".…":
        return False
    if text[cut].islower():
        return True
    return _ABBREVIATION.search(text[max(since, stop - _LONGEST_ABBREVIATION) : stop + 1]) is not None
