"""DOCX → text: paragraphs and tables in document order, headings by their styles."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator

from docx import Document
from docx.document import Document as WordDocument
from docx.table import Table, _Cell
from docx.text.paragraph import Paragraph

from knotwork.adapters.parsing.builder import TextBuilder
from knotwork.domain.model import ParsedText
from knotwork.errors import UnsupportedDocument

_MAX_UNPACKED_BYTES = 100_000_000  # of all parts; a bomb of 10 MB unpacks to 10 GB
_MAX_PARTS = 10_000
_HEADING = re.compile(r"heading (\d)\Z", re.IGNORECASE)


def parse_word(data: bytes, name: str) -> ParsedText:
    """Read a document; its title is that of its properties, else its first paragraph in the style Title.

    Headers, footers, notes and comments are left out. A table row is a line `a | b`.

    Raises:
        UnsupportedDocument: damaged, encrypted, too large once unpacked, or with entities declared in it.
    """
    _guard(data, name)
    try:
        document = Document(io.BytesIO(data))
        return _read(document)
    except Exception as error:
        raise UnsupportedDocument(f"{name!r} is no readable DOCX ({type(error).__name__}); save it again") from error


def _guard(data: bytes, name: str) -> None:
    """Refuse what would be dear to unpack, before anything is unpacked; sizes are those the archive declares."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts = archive.infolist()
            size = sum(part.file_size for part in parts)
            if len(parts) > _MAX_PARTS or size > _MAX_UNPACKED_BYTES:
                raise UnsupportedDocument(
                    f"{name!r} unpacks to {len(parts)} parts of {size} bytes; at most {_MAX_PARTS} parts "
                    f"of {_MAX_UNPACKED_BYTES} bytes are read"
                )
            for part in parts:  # a reader stops at the declared size, so a lie unpacks no further
                if part.filename.endswith((".xml", ".rels")) and b"<!DOCTYPE" in archive.read(part):
                    raise UnsupportedDocument(f"{name!r} declares entities in {part.filename}; save it again")
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, EOFError, ValueError) as error:
        reason = "is encrypted or a legacy Office file" if data.startswith(b"\xd0\xcf\x11\xe0") else "is no DOCX"
        raise UnsupportedDocument(f"{name!r} {reason}; save it as an unprotected .docx") from error


def _read(document: WordDocument) -> ParsedText:
    builder = TextBuilder()
    title = document.core_properties.title or ""
    items: list[str] = []  # a run of list items is one block
    for block in document.iter_inner_content():
        style = _style(block) if isinstance(block, Paragraph) else ""
        if isinstance(block, Paragraph) and style.startswith("List") and block.text.strip():
            items.append(f"- {block.text.strip()}")
            continue
        builder.paragraph("\n".join(items))
        items = []
        if isinstance(block, Table):
            builder.paragraph("\n".join(_rows(block)))
            continue
        heading = _HEADING.match(style)
        if heading:
            builder.heading(int(heading[1]), block.text)
            continue
        if style == "Title" and not title:
            title = block.text
        builder.paragraph(block.text)
    builder.paragraph("\n".join(items))
    return builder.build(title)


def _style(paragraph: Paragraph) -> str:
    return (paragraph.style.name or "") if paragraph.style else ""


def _rows(table: Table) -> Iterator[str]:
    for row in table.rows:
        cells: list[str] = []
        seen: list[object] = []
        for cell in row.cells:  # a merged cell comes once for each column it spans
            if cell._tc not in seen:  # noqa: SLF001 - the only identity a cell has
                seen.append(cell._tc)  # noqa: SLF001 - the same
                cells.append(" ".join(_cell_words(cell)))
        if any(cells):
            yield " | ".join(cells)


def _cell_words(cell: _Cell) -> Iterator[str]:
    for block in cell.iter_inner_content():
        if isinstance(block, Table):
            yield from _rows(block)
        else:
            yield from block.text.split()
