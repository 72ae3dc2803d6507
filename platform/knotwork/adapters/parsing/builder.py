"""Puts the text of a document together, and keeps account of offsets."""

from __future__ import annotations

import re

from knotwork.domain.model import Heading, PageStart, ParsedText

_LINE_ENDS = re.compile(r"\r\n?|[\v\f\x85\u2028\u2029]")
_BLANK_START = re.compile(r"\A(?:[^\S\n]*\n)+")
_SURROGATES = re.compile("[\ud800-\udfff]")
_LOWEST_LEVEL = 6


def clean(text: str) -> str:
    """Line ends of every kind as `\\n`, NUL dropped, lone surrogates as U+FFFD."""
    return _SURROGATES.sub("\ufffd", _LINE_ENDS.sub("\n", text).replace("\0", ""))


class TextBuilder:
    """Collects blocks in reading order and parts them by one blank line."""

    def __init__(self) -> None:
        self._blocks: list[str] = []
        self._length = 0  # of the blocks so far, joined
        self._headings: list[Heading] = []
        self._pages: list[PageStart] = []

    def paragraph(self, text: str) -> None:
        """A block of text. Line ends and the indentation of lines stay, blank lines around go; nothing adds nothing."""
        block = _BLANK_START.sub("", clean(text)).rstrip()
        if not block:
            return
        self._length = self._next_start() + len(block)
        self._blocks.append(block)

    def heading(self, level: int, text: str) -> None:
        """A heading line; level 1 is the highest."""
        line = " ".join(clean(text).split())
        if line:
            self._headings.append(Heading(self._next_start(), min(max(level, 1), _LOWEST_LEVEL), line))
            self.paragraph(line)

    def page(self, number: int) -> None:
        """The page that the next block begins."""
        self._pages.append(PageStart(self._next_start(), number))

    def build(self, title: str = "") -> ParsedText:
        """The text; pages after its last character are left out."""
        pages = tuple(page for page in self._pages if page.start < self._length)
        return ParsedText("\n\n".join(self._blocks), " ".join(clean(title).split()), tuple(self._headings), pages)

    def _next_start(self) -> int:
        return self._length + 2 if self._blocks else 0
