"""Markdown (CommonMark with tables) → readable text without its markup."""

from __future__ import annotations

import re
from collections.abc import Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token

from knotwork.adapters.parsing.builder import TextBuilder, clean
from knotwork.adapters.parsing.encoding import decode
from knotwork.adapters.parsing.hypertext import text_of_html
from knotwork.domain.model import ParsedText

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n((?:(?!---|\.\.\.).*\n)*+)(?:---|\.\.\.)[ \t]*(?:\n|\Z)")
_TITLE = re.compile(r"^title:[ \t]*(.+?)[ \t]*$", re.MULTILINE)


def parse_markdown(data: bytes, name: str) -> ParsedText:
    """Keep the words of links, emphasis, code and tables; list items are lines `- item`, rows `a | b`.

    Front matter is left out of the text; its `title` is the title.
    """
    source = clean(decode(data, name))
    title = ""
    front = _FRONT_MATTER.match(source)
    if front:
        found = _TITLE.search(front[1])
        title = found[1].strip("\"'") if found else ""
        source = source[front.end() :]
    writer = _Writer()
    for token in MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(source):
        writer.write(token)
    parsed = writer.builder.build(title)
    # The vendor gives up on nesting past its limit and drops what is in it.
    return parsed if parsed.text else ParsedText(source.strip(), title)


class _Writer:
    """Turns the stream of block tokens into blocks; a list or table is one block of lines."""

    def __init__(self) -> None:
        self.builder = TextBuilder()
        self._lines: list[str] = []
        self._cells: list[str] = []
        self._marker = ""
        self._lists: list[int | None] = []  # open lists: the number of the next item, None for bullets
        self._heading = 0
        self._in_table = False

    def write(self, token: Token) -> None:  # noqa: C901, PLR0912 - one flat case a type of token
        match token.type:
            case "heading_open":
                self._heading = int(token.tag[1:])
            case "heading_close":
                self._heading = 0
            case "bullet_list_open":
                self._lists.append(None)
            case "ordered_list_open":
                self._lists.append(int(token.attrs.get("start", 1)))
            case "bullet_list_close" | "ordered_list_close":
                self._lists.pop()
                self._end_block()
            case "list_item_open":
                self._marker = self._next_marker()
            case "table_open":
                self._in_table = True
            case "table_close":
                self._in_table = False
                self._end_block()
            case "tr_close":
                self._lines.append(" | ".join(self._cells))
                self._cells = []
            case "inline":
                self._inline(_words(token.children or ()))
            case "fence" | "code_block":
                self._text(token.content)
            case "html_block":
                self._text(text_of_html(token.content))
            case _:
                pass

    def _inline(self, text: str) -> None:
        if self._in_table:
            self._cells.append(" ".join(text.split()))
        elif self._heading and not self._lists:
            self.builder.heading(self._heading, text)
        else:
            self._text(text)

    def _text(self, text: str) -> None:
        if not self._lists:
            self.builder.paragraph(text)
            return
        indent = "  " * (len(self._lists) - 1)
        for line in filter(str.strip, text.splitlines()):
            self._lines.append(f"{indent}{self._marker or '  '}{line}")
            self._marker = ""

    def _next_marker(self) -> str:
        number = self._lists[-1]
        if number is None:
            return "- "
        self._lists[-1] = number + 1
        return f"{number}. "

    def _end_block(self) -> None:
        if not self._lists and self._lines:
            self.builder.paragraph("\n".join(self._lines))
            self._lines = []


def _words(tokens: Sequence[Token]) -> str:
    parts: list[str] = []
    for token in tokens:
        if token.type in {"text", "code_inline", "text_special"}:
            parts.append(token.content)
        elif token.type in {"softbreak", "hardbreak"} or (
            token.type == "html_inline" and token.content.lower().startswith("<br")
        ):
            parts.append("\n")
        elif token.type == "image":
            parts.append(_words(token.children or ()))
    return "".join(parts)
