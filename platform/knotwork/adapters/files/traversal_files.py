"""Traversals as files of a folder."""

from __future__ import annotations

from pathlib import Path

from knotwork.domain.traversals import MAX_FILE_BYTES
from knotwork.ports.traversals import TraversalFile

SUFFIX = ".cypher"
MAX_FILES = 500


def traversal_files(folder: Path, *, is_shipped: bool) -> list[TraversalFile]:
    """The `*.cypher` files of a folder, by name; none where there is no such folder."""
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix == SUFFIX)[:MAX_FILES]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [_read(path, is_shipped=is_shipped) for path in paths]


def _read(path: Path, *, is_shipped: bool) -> TraversalFile:
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_FILE_BYTES + 1)  # one too many is told from its length
        return TraversalFile(path.stem, data.decode("utf-8-sig"), is_shipped)
    except OSError as error:
        return TraversalFile(path.stem, None, is_shipped, f"it cannot be read: {error.strerror}")
    except UnicodeDecodeError:
        return TraversalFile(path.stem, None, is_shipped, f"it is not UTF-8, or over {MAX_FILE_BYTES // 1024} KB")
