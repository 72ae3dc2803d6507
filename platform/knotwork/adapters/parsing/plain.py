"""Plain text: paragraphs as they stand."""

from __future__ import annotations

from knotwork.adapters.parsing.builder import clean
from knotwork.adapters.parsing.encoding import decode
from knotwork.domain.model import ParsedText


def parse_plain(data: bytes, name: str) -> ParsedText:
    """Decode, mend line ends; blank lines before and after the text go. No headings are guessed at."""
    text = clean(decode(data, name))
    return ParsedText(text.strip("\n").rstrip() if text.strip() else "")
