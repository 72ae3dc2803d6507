"""Which sources a list of paths stands for, and under which ids."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from knotwork.domain.normalise import clean_text
from knotwork.errors import InvalidInput, PlatformError

CORPUS_ENDINGS = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
PACKED_ENDING = ".gz"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a source comes from: a file by its path below a root, with `/`."""

    root: Path  # absolute
    file: str


@dataclass(frozen=True, slots=True)
class FileItem:
    """A source that is a file."""

    id: str
    path: Path
    place: Place


@dataclass(frozen=True, slots=True)
class BytesItem:
    """A source that came through standard input; its id, as a name, tells the format."""

    id: str
    data: bytes = field(repr=False)
    place: None = None


@dataclass(frozen=True, slots=True)
class RowItem:
    """A source that is a row of a corpus."""

    id: str
    title: str
    text: str = field(repr=False)
    metadata: Mapping[str, Any]
    place: Place


Item = FileItem | BytesItem | RowItem


@dataclass(frozen=True, slots=True)
class Problem:
    """A source that could not be taken, and why."""

    id: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be sent, in order and without two of one id, and what cannot be."""

    items: tuple[Item, ...]
    problems: tuple[Problem, ...] = ()
    scopes: tuple[Place, ...] = ()  # what was named to be read: a root, with the file or folder below it, "" for all


def make_plan(paths: Sequence[Path], *, root: Path | None) -> Plan:
    """Files and the files of folders, as sources. An id is the path relative to the root, with `/`.

    A file of JSON Lines whose every row has a string `id` and a string `text` is a corpus: each row is a source of
    that id.

    Args:
        paths: Files and folders. Of a folder every file is taken, in the order of names, but for hidden ones.
        root: What ids are relative to; None: each folder itself, and a file's own folder.
    Raises:
        InvalidInput: a path does not exist, or is outside the root.
    """
    items: dict[str, Item] = {}
    problems: list[Problem] = []
    scopes: list[Place] = []
    for path in paths:
        if not path.exists():
            raise InvalidInput(f"{path} does not exist; name a file or a folder")
        base = _absolute(root or (path if path.is_dir() else path.parent))
        scopes.append(Place(base, relative_id(path, base)))
        for file in walk(path, problems, path.resolve()) if path.is_dir() else [path]:
            for item in _expand(file, Place(base, relative_id(file, base)), problems):
                if item.id in items:
                    problems.append(_duplicate(item, items[item.id]))
                else:
                    items[item.id] = item
    return Plan(tuple(items.values()), tuple(problems), tuple(scopes))


def walk(
    folder: Path, problems: list[Problem], within: Path, _above: frozenset[tuple[int, int]] = frozenset()
) -> Iterator[Path]:
    """Every file below a folder, in the order of names; what cannot be taken is added to the problems.

    Hidden files and folders are left out, and so are links back to a folder above. A link to what is not below `within`
    (resolved) is a problem: a folder that others wrote must not bring in what they cannot read.
    """
    try:
        state = folder.stat()
        here = (state.st_dev, state.st_ino)
        if here in _above:
            return
        names = sorted(entry.name for entry in os.scandir(folder) if not entry.name.startswith("."))
        kinds = [(folder / name, (folder / name).is_dir(), (folder / name).is_file()) for name in names]
    except OSError as error:
        problems.append(_unreadable(str(folder), folder, error))
        return
    for path, is_folder, is_file in kinds:
        if (is_folder or is_file) and path.is_symlink() and not path.resolve().is_relative_to(within):
            problems.append(
                Problem(str(path), "outside", f"{path} links to {path.resolve()}, outside the folder given")
            )
        elif is_folder:
            yield from walk(path, problems, within, _above | {here})
        elif is_file:  # else a broken link, a pipe, a socket
            yield path


def relative_id(path: Path, root: Path) -> str:
    """The path as seen from the root, with `/` between its parts, the same on every machine; "" for the root itself.

    Raises:
        InvalidInput: it is outside.
    """
    for resolve in (_absolute, Path.resolve):
        try:
            relative = resolve(path).relative_to(resolve(root)).as_posix()
        except ValueError:
            continue
        return "" if relative == "." else clean_text(relative)
    raise InvalidInput(f"{path} is not below the root {root}; name a --root that holds it")


def _absolute(path: Path) -> Path:
    """Absolute without following links, so that an id is made of the names that the user sees."""
    return Path(os.path.abspath(path))  # noqa: PTH100 - Path.absolute keeps `..`, Path.resolve follows links


def _expand(file: Path, place: Place, problems: list[Problem]) -> Sequence[Item]:
    """A file as its sources: the rows of a corpus, else the file itself."""
    whole = [FileItem(place.file, file, place)]
    if not file.name.lower().endswith(CORPUS_ENDINGS):
        return whole
    from knotwork.adapters.parsing.records import expand_jsonl

    try:
        rows = expand_jsonl(file.read_bytes(), str(file))
    except OSError as error:
        problems.append(_unreadable(place.file, file, error))
        return []
    except PlatformError as error:
        if not file.name.lower().endswith(PACKED_ENDING):
            return whole  # one document of rows; what is wrong with it, if anything, the service says
        problems.append(Problem(place.file, error.code, f"{error}; only corpora are read packed"))
        return []
    return [RowItem(row.id, row.title, row.text, row.metadata, place) for row in rows] or whole


def _unreadable(id_: str, path: Path, error: OSError) -> Problem:
    return Problem(id_, "unreadable", f"{path} cannot be read ({error.strerror})")


def _duplicate(item: Item, first: Item) -> Problem:
    places = " and ".join(str(one.place.root / one.place.file) for one in (first, item) if one.place)
    return Problem(
        item.id, "duplicate", f"{places} give the same source id; name a --root above both, or use two --type"
    )
