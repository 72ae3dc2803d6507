"""Text → chunks: bounded in the embedder's tokens, exact in their offsets, stable under edits.

A text is cut at headings into sections, a section at blank lines into paragraphs. Units are packed into chunks. A
unit is a paragraph, or, where that exceeds a chunk, a sentence, or, where that does too, a window of a sentence.

- A chunk never crosses a heading. A heading line belongs to the chunk that follows it; headings without a body of
  their own join the next one.
- Packing is greedy and restarts at content-defined units: those whose hash is the smallest within `max_tokens` on
  either side. Where packing restarts depends on the text nearby alone, so an edit renames the chunks around it and
  none beyond. (Source of the idea: local maximum chunking, Bjørner, Blass, Gurevich, "Content-dependent chunking for
  differential compression, the local maximum approach", J. Computer and System Sciences 76, 2010.)
- A chunk repeats the last whole sentences of the one before, up to `overlap_tokens`, across restarts too but never
  across a heading. Packing does not look at the overlap, so an edit reaches one chunk further through it, not more.
- Windows are cut where the hash of the characters around is smallest, after a line end or white space if there is
  one, else between graphemes, and inside a grapheme only where it exceeds the bound.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop
from itertools import pairwise
from typing import Protocol
from zlib import crc32

from knotwork.domain.graphemes import is_boundary
from knotwork.domain.ids import chunk_id, content_hash
from knotwork.domain.model import Chunk, Heading, PageStart, ParsedText, SourceRef
from knotwork.domain.sentences import Span, paragraphs, sentences, trimmed
from knotwork.errors import InvalidInput

CHUNKER_VERSION = "1"
"""Part of the settings that an export depends on: raise it with any change that moves a boundary."""

CHARS_PER_TOKEN = 8
"""A chunk of `max_tokens` has at most this many characters a token: some tokenizers read a long word as one token."""

MIN_TOKENS = 16
_GLUED_HEADINGS = 8  # headings in a row that are kept together, whatever their hashes
_HASHED_CHARS = 8  # characters whose hash decides where a window ends


class Measure(Protocol):
    """What a chunk is bounded in: the tokens of the embedder that will read it."""

    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        """The [start, end) of each token of `text`, in characters and in order, without special tokens."""
        ...


@dataclass(frozen=True, slots=True)
class _Unit:
    """A span that is packed whole."""

    start: int
    end: int
    tokens: int
    heading: bool = False


def chunk_text(
    parsed: ParsedText, source: SourceRef, *, measure: Measure, max_tokens: int, overlap_tokens: int
) -> list[Chunk]:
    """Cut a text into chunks, in order; every character that is not white space is in at least one.

    Args:
        parsed: The text, with headings and pages in order of their offsets.
        source: Whose text it is; part of each chunk's id.
        measure: Counts tokens; its identity belongs to the settings that ids depend on.
        max_tokens: Tokens of a chunk at most, without special tokens; `max_tokens * CHARS_PER_TOKEN` characters at
            most. Only a single character that is more tokens than that exceeds it.
        overlap_tokens: Tokens that a chunk repeats of the one before, at most.
    Returns:
        Chunks with `text == parsed.text[start:end]`. `headings` is the trail at the last heading that the chunk holds
        or follows, `page` that of its first character. Ordinals of equal texts count from 0.
    Raises:
        InvalidInput: max_tokens is under 16, or overlap_tokens negative or over half of max_tokens.
    """
    if max_tokens < MIN_TOKENS or not 0 <= overlap_tokens <= max_tokens // 2:
        raise InvalidInput(
            f"chunks of {max_tokens} tokens with an overlap of {overlap_tokens} cannot be cut; "
            f"take at least {MIN_TOKENS} tokens, and an overlap of at most half of them"
        )
    packer = _Packer(parsed.text, measure, max_tokens, overlap_tokens)
    trails = _Trails(parsed.headings)
    page_starts = [page.start for page in parsed.pages]
    seen: Counter[str] = Counter()
    chunks: list[Chunk] = []
    for headings, section_end in _sections(parsed):
        for start, end in packer.pack(headings, section_end):
            text = parsed.text[start:end]
            digest = content_hash(text)
            chunks.append(
                Chunk(
                    id=chunk_id(source, text, seen[digest]),
                    source=source,
                    index=len(chunks),
                    text=text,
                    start=start,
                    end=end,
                    content_hash=digest,
                    title=parsed.title,
                    headings=trails.before(end),
                    page=_page_at(parsed.pages, page_starts, start),
                )
            )
            seen[digest] += 1
    return chunks


def _sections(parsed: ParsedText) -> Iterator[tuple[list[Span], int]]:
    """Runs of heading lines, and the end of the body that follows the last of each; the first run may be empty."""
    text = parsed.text
    starts = sorted({heading.start for heading in parsed.headings if 0 <= heading.start < len(text)})
    run: list[Span] = [(0, 0)]  # the body before the first heading
    for start, following in pairwise([*starts, len(text)]):
        if text[run[-1][1] : start].strip():
            yield run, start
            run = []
        line_end = text.find("\n", start, following)
        run.append((start, following if line_end < 0 else line_end))
    yield run, len(text)


class _Trails:
    """Heading trails, outermost first; read in the order of the text."""

    def __init__(self, headings: Sequence[Heading]) -> None:
        self._coming = deque(sorted(headings))
        self._open: list[Heading] = []

    def before(self, end: int) -> tuple[str, ...]:
        """The trail of the last heading that starts before `end`; never asked for an earlier place than before."""
        while self._coming and self._coming[0].start < end:
            heading = self._coming.popleft()
            while self._open and self._open[-1].level >= heading.level:
                self._open.pop()
            self._open.append(heading)
        return tuple(heading.text for heading in self._open)


def _page_at(pages: Sequence[PageStart], starts: Sequence[int], at: int) -> int | None:
    number = bisect_right(starts, at) - 1
    return pages[number].page if number >= 0 else None


class _Packer:
    """Packs the units of one section after the other."""

    def __init__(self, text: str, measure: Measure, max_tokens: int, overlap_tokens: int) -> None:
        self._text = text
        self._measure = measure
        self._max_tokens = max_tokens
        self._overlap_tokens = overlap_tokens
        self._body_tokens = max_tokens - overlap_tokens

    def pack(self, headings: Sequence[Span], end: int) -> Iterator[Span]:
        """The chunks of a section: its heading lines, then its body up to `end`."""
        units = self._units(headings, end)
        restarts = self._restarts(units)
        at = 0
        while at < len(units):
            stop = bisect_right(restarts, at)
            limit = self._fill(units, at, restarts[stop] if stop < len(restarts) else len(units))
            start = self._overlap(units, at, limit)
            # Joined, the halves of a word may be more tokens than apart.
            while (start < units[at].start or limit > at + 1) and self._exceeds(start, units[limit - 1].end):
                start, limit = units[at].start, limit if start < units[at].start else limit - 1
            yield start, units[limit - 1].end
            at = limit

    def _fill(self, units: Sequence[_Unit], at: int, stop: int) -> int:
        """The index after the last unit of the chunk that begins with unit `at`."""
        budget = self._max_tokens if at == 0 else self._body_tokens
        tokens, limit = units[at].tokens, at + 1
        while limit < stop and self._joins(units[at], units[limit], tokens, budget):
            tokens += units[limit].tokens
            limit += 1
        return limit

    def _joins(self, first: _Unit, unit: _Unit, tokens: int, budget: int) -> bool:
        return tokens + unit.tokens <= budget and unit.end - first.start <= budget * CHARS_PER_TOKEN

    def _overlap(self, units: Sequence[_Unit], at: int, limit: int) -> int:
        """Where a chunk of units [at, limit) starts, once it repeats the end of the one before."""
        start = units[at].start
        room = min(self._overlap_tokens, self._max_tokens - sum(unit.tokens for unit in units[at:limit]))
        earliest = units[limit - 1].end - self._max_tokens * CHARS_PER_TOKEN
        for place in self._sentence_starts(units, at):
            if place < earliest or self._count(place, units[at].start) > room:
                break
            start = place
        return start

    def _sentence_starts(self, units: Sequence[_Unit], at: int) -> Iterator[int]:
        """Starts of the sentences before unit `at`, last first, up to a heading."""
        while self._overlap_tokens and at > 0 and not units[at - 1].heading:
            at -= 1
            for start, _ in reversed(list(sentences(self._text, units[at].start, units[at].end))):
                yield start

    def _units(self, headings: Sequence[Span], end: int) -> list[_Unit]:
        units: list[_Unit] = []
        for start, stop in headings:
            for line in trimmed(self._text, start, stop):
                units += (_Unit(*span, tokens, heading=True) for span, tokens in self._parts(line, self._max_tokens))
        # What follows a heading must fit beside it, or the heading would stand alone.
        taken = sum(unit.tokens for unit in units)
        limit = self._max_tokens - taken if taken <= self._max_tokens // 2 else self._max_tokens
        for paragraph in paragraphs(self._text, headings[-1][1], end):
            units += (_Unit(*span, tokens) for span, tokens in self._parts(paragraph, limit))
            limit = self._max_tokens
        return units

    def _parts(self, paragraph: Span, limit: int) -> Iterator[tuple[Span, int]]:
        """A paragraph whole where it has at most `limit` tokens, else its sentences, else their windows."""
        tokens = self._count_within(paragraph, limit)
        if tokens is not None:
            yield paragraph, tokens
            return
        limit = min(limit, self._body_tokens)
        for sentence in sentences(self._text, *paragraph):
            tokens = self._count_within(sentence, limit)
            if tokens is not None:
                yield sentence, tokens
                continue
            for window in _windows(self._text, *sentence, size=max(2, limit // 4)):
                yield from self._halves(window, limit)

    def _halves(self, span: Span, limit: int) -> Iterator[tuple[Span, int]]:
        """A window, halved until each part has at most `limit` tokens or is one character."""
        start, end = span
        tokens = self._count(start, end)
        if tokens <= limit or end - start == 1:
            yield span, tokens
            return
        middle = (start + end) // 2
        near = sorted(range(start + 1, end), key=lambda place: abs(place - middle))
        cut = next((place for place in near if is_boundary(self._text, place, since=start)), middle)
        for half in (*trimmed(self._text, start, cut), *trimmed(self._text, cut, end)):
            yield from self._halves(half, limit)

    def _count_within(self, span: Span, limit: int) -> int | None:
        """The tokens of a span; None where they, or its characters, exceed the limit."""
        start, end = span
        if end - start > limit * CHARS_PER_TOKEN:
            return None
        tokens = self._count(start, end)
        return tokens if tokens <= limit else None

    def _exceeds(self, start: int, end: int) -> bool:
        return self._count(start, end) > self._max_tokens

    def _count(self, start: int, end: int) -> int:
        return len(self._measure.offsets(self._text[start:end]))

    def _restarts(self, units: Sequence[_Unit]) -> list[int]:
        """Indices of the units where packing restarts, in order.

        A unit that follows a heading is none, nor one with less than `max_tokens` between it and the section's start.
        """
        hashes = [_hash(self._text[unit.start : unit.end]) for unit in units]
        ends = [0]
        for unit in units:
            ends.append(ends[-1] + unit.tokens)
        restarts: list[int] = []
        smallest: deque[int] = deque()  # indices within the window, their hashes rising
        entered = run = 0
        for at in range(len(units)):
            while entered < len(units) and ends[entered] - ends[at] <= self._max_tokens:
                while smallest and hashes[smallest[-1]] > hashes[entered]:
                    smallest.pop()
                smallest.append(entered)
                entered += 1
            while ends[at] - ends[smallest[0]] > self._max_tokens:
                smallest.popleft()
            run = run + 1 if at and units[at - 1].heading else 0
            glued = 0 < run < _GLUED_HEADINGS or (run and not units[at].heading)
            if smallest[0] == at and not glued and ends[at] > self._max_tokens:
                restarts.append(at)
        return restarts


_BREAKS = (re.compile(r"\n\s*"), re.compile(r"\s+"))


def _windows(text: str, start: int, end: int, *, size: int) -> Iterator[Span]:
    """Cut a sentence into windows of at most `size` characters at content-defined places."""
    while end - start > size:
        cut = _window_end(text, start, size)
        yield from trimmed(text, start, cut)
        start = cut
    yield from trimmed(text, start, end)


def _window_end(text: str, start: int, size: int) -> int:
    low, high = start + max(1, size // 4), start + size
    for breaks in _BREAKS:
        places = [place for gap in breaks.finditer(text, low, high) if low < (place := gap.end()) <= high]
        cut = _best(text, places, start)
        if cut is not None:
            return cut
    cut = _best(text, range(low, high + 1), start)
    return high if cut is None else cut


def _best(text: str, places: Sequence[int], since: int) -> int | None:
    """Of the places that are grapheme boundaries, the one with the smallest hash around it; of equal ones the last."""
    if not places:
        return None
    reach = _HASHED_CHARS // 2
    origin = max(0, places[0] - reach)
    around = text[origin : places[-1] + reach].encode("utf-32-le", "surrogatepass")
    ranked = [(crc32(around[4 * max(0, p - reach - origin) : 4 * (p + reach - origin)]), -p) for p in places]
    heapify(ranked)
    while ranked:
        place = -heappop(ranked)[1]
        if is_boundary(text, place, since=since):
            return place
    return None


def _hash(text: str) -> int:
    """The same in every process, unlike `hash`; of even spread, which is all that is asked of it."""
    return crc32(text.encode("utf-8", "surrogatepass"))
