"""HTML → text: headings, paragraphs, lists and tables in order; scripts and styles dropped."""

from __future__ import annotations

import re
from collections import Counter

from selectolax.lexbor import LexborHTMLParser, LexborNode

from knotwork.adapters.parsing.builder import TextBuilder
from knotwork.adapters.parsing.encoding import decode
from knotwork.domain.model import ParsedText
from knotwork.errors import UnsupportedDocument

_DROPPED = frozenset({"script", "style", "noscript", "template", "head", "svg", "math", "iframe", "object", "-comment"})
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LINES = frozenset({"li", "tr", "dt", "dd", "option", "br", "caption"})
_BLOCKS = frozenset(
    {
        *("address", "article", "aside", "blockquote", "body", "details", "dialog", "div", "dl", "fieldset"),
        *("figcaption", "figure", "footer", "form", "header", "hr", "main", "nav", "ol", "p", "pre", "section"),
        *("summary", "table", "ul"),
    }
)
_CELLS = frozenset({"td", "th"})
_GROUPS = frozenset({"ul", "ol", "dl", "table"})  # one block of lines each
# Elements that may stay open, or have no content: they do not nest by being left open.
_UNNESTED = frozenset(
    {
        *("html", "head", "body", "p", "li", "dt", "dd", "tr", "td", "th", "thead", "tbody", "tfoot", "colgroup"),
        *("option", "optgroup", "rt", "rp", "area", "base", "br", "col", "embed", "hr", "img", "input", "link"),
        *("meta", "source", "track", "wbr"),
    }
)
_RAW = re.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style|textarea|xmp|iframe|noembed|noframes)\b.*?(?:</\1[^>]*>?|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_TAG = re.compile(r"""<(/?)([a-zA-Z][^\s/>]*+)(?:[^>"']|"[^"]*"|'[^']*')*+""")
_MAX_DEPTH = 5_000  # the parser's time grows with the square of the depth: 0.1 s here, 40 s at 100,000
_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?([A-Za-z0-9_.:-]{2,40})""", re.IGNORECASE)
_HEAD_BYTES = 4096


def parse_html(data: bytes, name: str) -> ParsedText:
    """Read a page; its title is that of `<title>`. A `charset` in a `<meta>` is believed where the bytes fit it."""
    tree = _parse(_decode(data, name))
    title = tree.css_first("head > title")
    return _walk(tree).build(title.text() if title else "")


def text_of_html(fragment: str) -> str:
    """The text of a piece of HTML."""
    return _walk(_parse(fragment)).build().text


def _parse(page: str) -> LexborHTMLParser:
    shown = _RAW.sub(" ", page)
    open_tags: Counter[str] = Counter()
    for tag in _TAG.finditer(shown):
        name = tag[2].lower()
        if name in _UNNESTED:
            continue
        if not tag[1]:
            open_tags[name] += 1
        elif open_tags[name]:
            open_tags[name] -= 1
        if open_tags[name] > _MAX_DEPTH:
            raise UnsupportedDocument(f"the page nests <{name}> deeper than {_MAX_DEPTH}; send it as plain text")
    return LexborHTMLParser(shown)


def _decode(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8-sig") if b"\0" not in data else decode(data, name)
    except UnicodeDecodeError:
        declared = _CHARSET.search(data[:_HEAD_BYTES])
        try:
            return data.decode(declared[1].decode("ascii")) if declared else decode(data, name)
        except (LookupError, UnicodeDecodeError):
            return decode(data, name)


def _walk(tree: LexborHTMLParser) -> TextBuilder:
    """Visit the tree in order, without recursion: pages nested 100,000 deep exist."""
    writer = _Writer()
    node: LexborNode | None = tree.body
    depth = 0
    while node is not None:
        child = None if node.tag in _DROPPED else node.first_child
        if node.tag not in _DROPPED:
            writer.enter(node)
        if child is not None:
            node, depth = child, depth + 1
            continue
        writer.leave(node.tag or "")
        while node is not None and depth and node.next is None:
            node, depth = node.parent, depth - 1
            if node is not None:
                writer.leave(node.tag or "")
        node = node.next if node is not None and depth else None
    writer.end_block()
    return writer.builder


class _Writer:
    """Gathers words into lines, lines into blocks."""

    def __init__(self) -> None:
        self.builder = TextBuilder()
        self._words: list[str] = []
        self._lines: list[str] = []
        self._groups = 0
        self._preformatted = 0
        self._prefix = ""

    def enter(self, node: LexborNode) -> None:
        tag = node.tag or ""
        if tag == "-text":
            self._words.append(node.text_content or "")
            return
        if tag in _HEADINGS:
            self.end_block()
            self._prefix = ""
        elif tag in _BLOCKS:
            self._part()
        elif tag in _LINES:
            self._end_line()
            self._prefix = "- " if tag == "li" else ""
        elif tag == "img":
            self._words.append(node.attributes.get("alt") or "")
        self._groups += tag in _GROUPS
        self._preformatted += tag == "pre"

    def leave(self, tag: str) -> None:
        if tag in _HEADINGS:
            line, self._words = "".join(self._words), []
            self.builder.heading(_HEADINGS[tag], line)
        elif tag in _CELLS:
            self._words.append(" | ")
        elif tag in _LINES:
            self._end_line()
        elif tag in _BLOCKS:
            if tag in _GROUPS:
                self._groups -= 1
            self._part()
            self._preformatted -= tag == "pre"

    def end_block(self) -> None:
        self._end_line()
        if self._lines:
            self.builder.paragraph("\n".join(self._lines))
            self._lines = []

    def _part(self) -> None:
        if self._groups:
            self._end_line()
        else:
            self.end_block()

    def _end_line(self) -> None:
        words, self._words = "".join(self._words), []
        line = words.strip("\n") if self._preformatted else " ".join(words.split()).removesuffix(" |")
        if line.strip(" |\n"):
            self._lines.append(self._prefix + line)
            self._prefix = ""
