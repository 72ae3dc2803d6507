"""CSV and TSV → text: a paragraph a row, a line `column: value` a cell."""

from __future__ import annotations

import csv
import io
from itertools import islice

from knotwork.adapters.parsing.builder import TextBuilder, clean
from knotwork.adapters.parsing.encoding import decode
from knotwork.domain.model import ParsedText
from knotwork.errors import InvalidInput

_DELIMITERS = (",", ";", "\t", "|")  # of equally good ones the first
_SNIFFED_CHARS = 65_536
_SNIFFED_ROWS = 20
csv.field_size_limit(2**31 - 1)  # the default refuses a cell of 128 KB; an upload is bounded elsewhere


def parse_rows(data: bytes, name: str) -> ParsedText:
    """Read a table whose first row names its columns; empty cells are left out, cells beyond the names are numbered.

    Raises:
        InvalidInput: a row is malformed; the message names the line.
    """
    text = clean(decode(data, name))
    reader = csv.reader(io.StringIO(text), delimiter="\t" if name.lower().endswith(".tsv") else _delimiter(text))
    builder = TextBuilder()
    try:
        names = [" ".join(cell.split()) for cell in next(reader, [])]
        rows = 0
        for row in reader:
            rows += any(cell.strip() for cell in row)
            builder.paragraph("\n".join(_cells(names, row)))
    except csv.Error as error:
        raise InvalidInput(f"line {reader.line_num} of {name!r} is no table row ({error}); mend it") from error
    if not rows:  # a header alone is all the text there is
        builder.paragraph(", ".join(filter(None, names)))
    return builder.build()


def _cells(names: list[str], row: list[str]) -> list[str]:
    named = ((names[at] if at < len(names) and names[at] else f"column {at + 1}", cell) for at, cell in enumerate(row))
    return [f"{column}: {' '.join(cell.split())}" for column, cell in named if cell.strip()]


def _delimiter(text: str) -> str:
    """The delimiter that cuts the first rows into most cells, rows of one width going before ragged ones."""

    def rank(delimiter: str) -> tuple[bool, int]:
        rows = csv.reader(io.StringIO(text[:_SNIFFED_CHARS]), delimiter=delimiter)
        widths = [len(row) for row in islice(rows, _SNIFFED_ROWS) if row]
        least = min(widths, default=1)
        return len(set(widths)) == 1 and least > 1, least

    return max(_DELIMITERS, key=rank)
