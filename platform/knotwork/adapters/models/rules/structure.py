"""Facts that the layout states: `key: value` lines, definitions, and lists under a heading."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from knotwork.adapters.models.rules.blocks import Block
from knotwork.adapters.models.rules.topic import Topic, read_heading

_MAX_KEY_WORDS: Final = 4
_MAX_ITEM_WORDS: Final = 6
_KEY = re.compile(r"([^\s:–—][^:–—\n]{1,58}?)(?::\s+|\s+[–—]\s+|\s+-\s+)(\S.*)")
_VALUE_PARTS = re.compile(r"\s*(?:,|;|\band\b)\s*")
_NOT_A_NAME = re.compile(r"[.!?]\s|\b(?:is|are|was|were|has|have|can|will|should|must|may)\b")


@dataclass(frozen=True, slots=True)
class LayoutFact:
    """A relationship that a line states, by names; `line` is the evidence."""

    source: str
    type: str
    target: str
    line: str


@dataclass(frozen=True, slots=True)
class Layout:
    """What the layout says, and the blocks left to be read as sentences."""

    facts: tuple[LayoutFact, ...]
    definitions: tuple[tuple[str, str], ...]  # (term, the line that defines it)
    prose: tuple[Block, ...]


def read_layout(blocks: Iterable[Block], topic: Topic | None, headings: Sequence[str]) -> Layout:
    """Read lines that are no sentences. A line's context is the nearest heading that names something, or the title.

    `Owner: Payments team` under `Checkout` is (Checkout, owner, Payments team); `**Retry budget**: a limit on ...`
    defines its term; a list item that is a name alone is included in the context.
    """
    trail = [name for heading in headings if (name := read_heading(heading))]
    context = trail[-1] if trail else (topic.name if topic else "")
    facts: list[LayoutFact] = []
    definitions: list[tuple[str, str]] = []
    prose: list[Block] = []
    for block in blocks:
        if block.kind == "heading":
            context = read_heading(block.text) or context
            prose.append(block)
            continue
        keyed = _KEY.fullmatch(block.text)
        if keyed and len(keyed[1].split()) <= _MAX_KEY_WORDS:
            key, parts = keyed[1], _value_names(keyed[2], block)
            if context and parts:
                kind = "-".join(key.casefold().split())
                facts += [LayoutFact(context, kind, part, block.text) for part in parts]
                continue
            if block.kind == "item" or key in block.marked:
                definitions.append((_plain(key), block.text))
                if context and context.casefold() != key.casefold():
                    facts.append(LayoutFact(context, "includes", _plain(key), block.text))
        elif block.kind == "item" and context and _is_name(block.text):
            facts.append(LayoutFact(context, "includes", _plain(block.text), block.text))
            continue
        prose.append(block)
    return Layout(tuple(facts), tuple(definitions), tuple(prose))


def _value_names(value: str, block: Block) -> list[str]:
    """The names that a value lists, or nothing where a part of it is no name."""
    parts = [_plain(part) for part in _VALUE_PARTS.split(value) if _plain(part)]
    named = all(_is_name(part) and (part[0].isupper() or part in block.marked) for part in parts)
    return parts if named else []


def _is_name(text: str) -> bool:
    text = text.rstrip(".")
    return 0 < len(text.split()) <= _MAX_ITEM_WORDS and not _NOT_A_NAME.search(text) and any(c.isalpha() for c in text)


def _plain(text: str) -> str:
    return text.strip(" .;,:")
