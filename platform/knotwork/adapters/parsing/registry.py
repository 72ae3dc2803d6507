"""Which parser reads what. A plain function, so that it runs in a worker process as well as in a thread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import PurePosixPath
from types import MappingProxyType

from knotwork.adapters.parsing.hypertext import parse_html
from knotwork.adapters.parsing.json_lines import parse_json_lines
from knotwork.adapters.parsing.markdown import parse_markdown
from knotwork.adapters.parsing.pdf import parse_pdf
from knotwork.adapters.parsing.plain import parse_plain
from knotwork.adapters.parsing.rows import parse_rows
from knotwork.adapters.parsing.word import parse_word
from knotwork.domain.model import ParsedText
from knotwork.errors import UnsupportedDocument

PARSER_VERSION = "1"
"""Part of the settings that an export depends on: raise it with any change of the text that a parser gives."""

TEXT = "text/plain"
WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"

PARSERS: MappingProxyType[str, Callable[[bytes, str], ParsedText]] = MappingProxyType(
    {
        TEXT: parse_plain,
        "text/markdown": parse_markdown,
        "text/html": parse_html,
        "application/pdf": parse_pdf,
        WORD: parse_word,
        "application/jsonl": parse_json_lines,
        "text/csv": parse_rows,
    }
)
_ALIASES = {
    "text/x-markdown": "text/markdown",
    "application/xhtml+xml": "text/html",
    "application/x-pdf": "application/pdf",
    "application/x-ndjson": "application/jsonl",
    "application/ndjson": "application/jsonl",
    "application/x-jsonlines": "application/jsonl",
    "application/csv": "text/csv",
    "text/tab-separated-values": "text/csv",
}
_ENDINGS = {
    **dict.fromkeys((".txt", ".text", ".log", ".rst", ".json", ".yaml", ".yml", ".toml", ".xml", ".tex"), TEXT),
    **dict.fromkeys((".md", ".markdown", ".mdown", ".mkd"), "text/markdown"),
    **dict.fromkeys((".html", ".htm", ".xhtml"), "text/html"),
    ".pdf": "application/pdf",
    ".docx": WORD,
    **dict.fromkeys((".jsonl", ".ndjson"), "application/jsonl"),
    **dict.fromkeys((".csv", ".tsv"), "text/csv"),
}
_UNKNOWN = frozenset({"", "application/octet-stream", "binary/octet-stream"})


def parse_bytes(data: bytes, name: str, media_type: str | None = None) -> tuple[ParsedText, str]:
    """Read a document; returns its text and the media type it was read as.

    The title is the document's own, else its first heading of level 1, else the stem of its name. A document of no
    bytes or of white space only gives an empty text.

    Raises:
        UnsupportedDocument, InvalidInput: as `ports.parser.Parser`.
    """
    detected = detect(data, name, media_type)
    parsed = PARSERS[detected](data, name) if data.strip() else ParsedText("")
    first = next((heading.text for heading in parsed.headings if heading.level == 1), "")
    title = parsed.title or first or PurePosixPath(name.replace("\\", "/")).stem
    return replace(parsed, title=title), detected


def detect(data: bytes, name: str, media_type: str | None = None) -> str:
    """The media type to read a document as: the declared one, else that of the name's ending, else by its first bytes.

    A declared `text/plain` yields to an ending that says more: senders call every text so. What is neither declared
    nor named is a PDF, a DOCX or a text by its content.

    Raises:
        UnsupportedDocument: a type is declared that no parser reads.
    """
    declared = (media_type or "").partition(";")[0].strip().lower()
    declared = _ALIASES.get(declared, declared)
    ending = _ENDINGS.get(PurePosixPath(name.replace("\\", "/")).suffix.lower())
    if declared in _UNKNOWN or (declared == TEXT and ending and ending.startswith(("text/", "application/jsonl"))):
        return ending or _by_content(data)
    if declared in PARSERS:
        return declared
    if declared.startswith("text/") or declared == "application/json":
        return TEXT
    raise UnsupportedDocument(f"{name!r} is {declared}, which is not read; send one of {', '.join(PARSERS)}")


def _by_content(data: bytes) -> str:
    if data.startswith(b"%PDF-"):
        return "application/pdf"
    return WORD if data.startswith(b"PK\x03\x04") and b"word/" in data else TEXT
