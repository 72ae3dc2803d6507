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
_BLOCK_BYTES = 65_536
_LEGACY = b"\xd0\xcf\x11\xe0"  # the container of .doc, and of a .docx under a password
_HEADING = re.compile(r"heading (\d)\Z", re.IGNORECASE)


def parse_word(data: bytes, name: str) -> ParsedText:
    """Read a document; its title is that of its properties, else its first paragraph in the style Title.

    Headers, footers, notes and comments are left out. A table row is a line `a | b`.

    Raises:
        UnsupportedDocument: damaged, encrypted, too large once unpacked, or with entities declared in it.
    """
    archive = _unpacked(data, name)
    try:
        return _read(Document(archive))
    except Exception as error:
        raise UnsupportedDocument(f"{name!r} is no readable DOCX ({type(error).__name__}); save it again") from error


def _unpacked(data: bytes, name: str) -> io.BytesIO:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _repacked(archive, name)
    except UnsupportedDocument:
        raise
    except Exception as error:  # each kind of compression has errors of its own
        reason = "is encrypted or a legacy Office file" if data.startswith(_LEGACY) else "is no DOCX, or a damaged one"
        raise UnsupportedDocument(f"{name!r} {reason}; save it as an unprotected .docx") from error


def _repacked(archive: zipfile.ZipFile, name: str) -> io.BytesIO:
    """The same parts without compression, none longer than its declared size.

    The vendor reads a part in one go, which unpacks up to 2 GB before a lie about its size is noticed.
    """
    parts = {part.filename: part for part in archive.infolist()}
    size = sum(part.file_size for part in parts.values())
    if len(parts) > _MAX_PARTS or size > _MAX_UNPACKED_BYTES:
        raise UnsupportedDocument(
            f"{name!r} unpacks to {len(parts)} parts of {size} bytes; at most {_MAX_PARTS} parts "
            f"of {_MAX_UNPACKED_BYTES} bytes are read"
        )
    stored = io.BytesIO()
    with zipfile.ZipFile(stored, "w") as copy:
        for part in parts.values():
            with archive.open(part) as stream:
                content = b"".join(iter(lambda: stream.read(_BLOCK_BYTES), b""))
            if part.filename.endswith((".xml", ".rels")) and b"<!DOCTYPE" in content:
                raise UnsupportedDocument(f"{name!r} declares entities in {part.filename}; save it again")
            copy.writestr(part.filename, content)
    stored.seek(0)
    return stored


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
