"""Reading an export line by line: in order, whole, and as its hash says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from knotwork.domain.export import VECTOR_FORMAT, VERSION, Place, Record, StateHash, from_line, place
from knotwork.errors import ExportDamaged


class ExportReader:
    """Takes the lines of one export as they come."""

    def __init__(self) -> None:
        self._state = StateHash()
        self._last: Place = (-1, "", "", "")
        self.sha256: str | None = None  # once the last line is read

    def read(self, line: bytes) -> tuple[Place, Record]:
        """The record of the next line, and where it stands.

        Raises:
            ExportDamaged: it is no line of an export, out of order, or the last one does not match those before.
        """
        record = from_line(line)
        at = place(record)
        if self._state.lines == 0 and record["kind"] != "header":
            raise ExportDamaged("the first line is no header; give a file that `knotwork export` wrote")
        if at <= self._last:
            raise ExportDamaged(f"the lines are not in order at {record.get('id')!r}; export them again")
        self._last = at
        if record["kind"] != "end":
            self._state.add(line)
        elif record.get("sha256") != self._state.hexdigest:
            raise ExportDamaged("the lines do not match their hash; the file was changed, export it again")
        else:
            self.sha256 = self._state.hexdigest
        return at, record

    def require_end(self) -> None:
        """Raises: ExportDamaged: the last line is still to come."""
        if self.sha256 is None:
            raise ExportDamaged("the export is cut off: its last line is missing; export it again")


@dataclass(frozen=True, slots=True)
class Extent:
    """What lies in a file that holds an export, and after it perhaps its vectors."""

    sha256: str
    export_bytes: int
    vector_bytes: int
    sources: int


def extent(lines: Iterable[bytes]) -> Extent:
    """See that lines are one whole export, and those after it, if any, a file of vectors; nothing is stored.

    Args:
        lines: Each with its line end, as in the file.
    Raises:
        ExportDamaged: they are not.
    """
    reader, vectors = ExportReader(), _VectorLines()
    export_bytes = vector_bytes = sources = 0
    for line in lines:
        if reader.sha256 is None:
            sources += reader.read(line)[1]["kind"] == "source"
            export_bytes += len(line)
        else:
            vectors.read(line)
            vector_bytes += len(line)
    reader.require_end()
    assert reader.sha256 is not None  # noqa: S101 - require_end has seen to it
    return Extent(reader.sha256, export_bytes, vector_bytes, sources)


def export_lines(lines: Iterable[bytes]) -> Iterator[tuple[Place, Record]]:
    """The records of a whole export, each with its place.

    Raises:
        ExportDamaged: a line is none of an export, out of order or missing, or was changed.
    """
    reader = ExportReader()
    for line in lines:
        yield reader.read(line)
    reader.require_end()


def require_vector_header(record: Record) -> None:
    """Raises: ExportDamaged: it is not the first line of a file of vectors that this release reads."""
    if record.get("format") != VECTOR_FORMAT or record.get("version") != VERSION:
        raise ExportDamaged(
            "this is no file of vectors of this release; give the one that `knotwork export` wrote beside the export"
        )


class _VectorLines:
    """Takes the lines of a file of vectors."""

    def __init__(self) -> None:
        self._last: Place | None = None

    def read(self, line: bytes) -> None:
        record = from_line(line)
        at = place(record)
        if self._last is None:
            require_vector_header(record)
        elif at <= self._last:
            raise ExportDamaged(f"the vectors are not in order at {record.get('id')!r}; export them again")
        self._last = at
