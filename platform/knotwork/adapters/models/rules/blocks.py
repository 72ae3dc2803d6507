"""Prepares a chunk for the model: markup away, one block (paragraph, list item, heading) a line, absurd input cut."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

MAX_CHARS: Final = 24_000
"""Characters of a chunk that are read. Chunks are of a few hundred words; this bounds a call at a few seconds."""

_MAX_WORD: Final = 80  # longer runs without a space (base64, keys, 'aaaa...') are no words

_CONTROL = re.compile(r"[^\S\n]|[\x00-\x09\x0b-\x1f\x7f-\x9f\ufffd\u200b\ufeff\u00ad]")
_LONG_RUN = re.compile(rf"\S{{{_MAX_WORD + 1},}}")
_LINK = re.compile(r"!?\[([^\][\n]{0,200})\]\([^()\s]{0,500}\)")
_MARKED = re.compile(r"(\*\*|__|`)([^\n*_`][^\n*`]{0,78}?)\1")
_SPACE_AFTER_OPENING = re.compile(r"(\w)\( (?=\S)")
_SPACE_AFTER_HYPHEN = re.compile(r"(?<=[A-Za-z])- (?=(?!and\b|or\b|to\b)[A-Za-z])")
_ITEM = re.compile(r"\s{0,12}(?:[-*+•‣◦]|\d{1,3}[.)])\s+(?=\S)")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s+(.*?)\s*#*\s*$")
_FENCE = re.compile(r"\s{0,3}(```|~~~)")
_TABLE_RULE = re.compile(r"[\s|:+-]+$")
_SPACES = re.compile(r" {2,}")

Kind = Literal["text", "item", "heading"]


@dataclass(frozen=True, slots=True)
class Block:
    """A line for the model. `marked` are the words that the author set in bold or code: names, as a rule."""

    kind: Kind
    text: str
    marked: tuple[str, ...] = ()


def split_blocks(text: str, headings: Sequence[str] = ()) -> list[Block]:
    """The blocks of a chunk, in order. Any text is accepted; blocks of code are passed over.

    Args:
        text: Plain text or Markdown; what follows its first MAX_CHARS characters is not read.
        headings: The chunk's heading trail; a line equal to one of them is a heading.
    """
    text = _LONG_RUN.sub(" ", _CONTROL.sub(" ", text[:MAX_CHARS]))
    # `Name( born` and `half- brother` are common scars of tokenised text, which the model would misread.
    text = _SPACE_AFTER_HYPHEN.sub("-", _SPACE_AFTER_OPENING.sub(r"\1 (", text))
    known = {heading.strip() for heading in headings}
    blocks: list[Block] = []
    paragraph: list[str] = []
    in_code = False

    def close() -> None:
        if paragraph:
            _append(blocks, "text", " ".join(paragraph))
            paragraph.clear()

    for line in text.split("\n"):
        if _FENCE.match(line):
            in_code = not in_code
            close()
        elif not in_code:
            kind, words = _read_line(line, known)
            if kind != "text" or not words:
                close()
            if kind == "text":
                paragraph += [words] if words else []
            else:
                _append(blocks, kind, words)
    close()
    return blocks


def _read_line(line: str, headings: set[str]) -> tuple[Kind, str]:
    """What a line is, and its words without the mark that says so; a rule of a table and a blank line have none."""
    stripped = line.strip()
    if not stripped or _TABLE_RULE.fullmatch(stripped):
        return "text", ""
    if heading := _HEADING.match(line):
        return "heading", heading[1]
    if stripped in headings:
        return "heading", stripped
    if item := _ITEM.match(line):
        return "item", line[item.end() :]
    if stripped.startswith("|"):
        return "item", "; ".join(cell.strip() for cell in stripped.strip("|").split("|"))
    return "text", stripped


def _append(blocks: list[Block], kind: Kind, text: str) -> None:
    text = _LINK.sub(r"\1", text)
    marked = tuple(found[2].strip() for found in _MARKED.finditer(text))
    text = _SPACES.sub(" ", _MARKED.sub(r"\2", text)).strip(" >")
    if any(character.isalnum() for character in text):
        blocks.append(Block(kind, text, tuple(word for word in marked if word)))
