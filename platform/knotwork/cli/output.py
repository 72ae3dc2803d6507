"""What commands print: tables and text for people, one JSON document for programs."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from rich.console import Console
from rich.text import Text

QUIET_LINE_S = 5.0  # between two lines of progress where no bar can be drawn
BIDI = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))  # they reorder what stands around them
LINE_ENDS = (0x2028, 0x2029)
STEERING = (*range(0x20), *range(0x7F, 0xA0), *BIDI, *LINE_ENDS)  # what must not reach a terminal as it is
REPLACED = {code: "�" for code in STEERING if chr(code) not in "\n\t"}
REPLACED_IN_LINE = REPLACED | {ord("\n"): " ", ord("\t"): " "}
ESCAPED = {code: f"\\u{code:04x}" for code in STEERING if chr(code) > "~"}  # JSON has escaped those below


class Progress(Protocol):
    """Shows how far something has come."""

    def __call__(self, done: int, total: int, text: str = "") -> None:
        """Show `done` of `total`; a total of 0 is not known yet."""
        ...


class Output:
    """Standard output for the answer, standard error for everything else.

    On a terminal tables fit its width; into a pipe a row is one line with its cells parted by tabs, without ANSI.
    """

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self._out = Console(highlight=False)
        self._err = Console(stderr=True, highlight=False)

    def document(self, value: object) -> None:
        """The machine's answer: one JSON document."""
        sys.stdout.write(json_text(value, indent=2) + "\n")

    def line(self, text: str = "", *, style: str = "", indent: int = 0) -> None:
        """A line of the human answer; long ones are wrapped on a terminal only."""
        self._print(self._out, text, style, indent)

    def note(self, text: str, *, style: str = "") -> None:
        """A remark beside the answer."""
        self._print(self._err, text, style, 0)

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[object]], *, headed: bool = False) -> None:
        """Rows under their columns; into a pipe without them, unless `headed`, where their names are data."""
        cells = [[in_line("" if cell is None else str(cell)) for cell in row] for row in rows]
        if not self._out.is_terminal:
            for row in [list(columns), *cells] if headed else cells:
                sys.stdout.write("\t".join(row) + "\n")
            return
        from rich.table import Table

        table = Table(*columns, box=None, pad_edge=False, header_style="bold")
        for column in table.columns:
            column.overflow = "fold"
        for row in cells:
            table.add_row(*(Text(cell) for cell in row))
        self._out.print(table)

    def facts(self, pairs: Mapping[str, object]) -> None:
        """Names with their values, one a line."""
        width = max(map(len, pairs), default=0)
        for name, value in pairs.items():
            self.line(in_line(f"{name:<{width}}  {value}"))

    @contextmanager
    def progress(self, label: str, *, unit: str = "", is_bytes: bool = False) -> Generator[Progress]:
        """A bar on a terminal; elsewhere a line now and then. Both on standard error.

        Args:
            label: What is going on, until the caller says something else.
            unit: What is counted, in the plural; the rate is shown in it.
            is_bytes: The counts are bytes.
        """
        if not self._err.is_terminal:
            yield _Lines(self, label, unit)
            return
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            MofNCompleteColumn,
            SpinnerColumn,
            TextColumn,
            TimeElapsedColumn,
        )
        from rich.progress import Progress as Bars

        columns = [
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None),
            DownloadColumn() if is_bytes else MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}", markup=False),
            TimeElapsedColumn(),
        ]
        started = time.monotonic()
        with Bars(*columns, console=self._err, transient=True) as bars:
            task = bars.add_task(label, total=None, rate="")

            def show(done: int, total: int, text: str = "") -> None:
                rate = f"{done / max(time.monotonic() - started, 0.001):.1f} {unit}/s" if unit and done else ""
                bars.update(task, completed=done, total=total or None, description=printable(text) or label, rate=rate)

            yield show

    def _print(self, console: Console, text: str, style: str, indent: int) -> None:
        text = printable(text)
        if not console.is_terminal:
            pad = " " * indent
            console.file.write("".join(f"{pad}{line}".rstrip() + "\n" for line in text.split("\n")))
            return
        from rich.padding import Padding

        console.print(Padding(Text(text, style=style, overflow="fold"), (0, 0, 0, indent), expand=False))


class _Lines:
    """Progress where no bar can be drawn: a line when the text changes, and one every few seconds."""

    def __init__(self, output: Output, label: str, unit: str) -> None:
        self._output, self._label, self._unit = output, label, unit
        self._said = ""
        self._next = time.monotonic() + QUIET_LINE_S
        self._started = time.monotonic()

    def __call__(self, done: int, total: int, text: str = "") -> None:
        now = time.monotonic()
        if self._unit:
            if now >= self._next:
                rate = done / (now - self._started)
                self._output.note(f"{self._label}: {done} of {total} {self._unit}, {rate:.1f} {self._unit}/s")
                self._next = now + QUIET_LINE_S
        elif text and text != self._said and (now >= self._next or text.split(maxsplit=1)[0] not in self._said):
            self._output.note(text)
            self._said, self._next = text, now + QUIET_LINE_S


def printable(text: str) -> str:
    """The text without characters that steer: a document must not rule the terminal that shows it."""
    return text.translate(REPLACED)


def in_line(text: str) -> str:
    """As `printable`, and on one line: an id must not look like a line of ours."""
    return text.translate(REPLACED_IN_LINE)


def json_text(value: object, *, indent: int | None = None) -> str:
    """JSON in which characters that steer a terminal are escaped; the value is the same."""
    return json.dumps(value, ensure_ascii=False, indent=indent).translate(ESCAPED)


def plural(count: int, noun: str, nouns: str = "") -> str:
    """`1 source`, `2 sources`."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def fact_line(fact: Mapping[str, Any]) -> str:
    """A relationship as a line: from —type→ to."""
    return f"{fact['from']} —{fact['type']}→ {fact['to']}"
