"""The folder of the embedded vector store: its owner's lock, and a pointer file to each collection's live shard."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from knotwork.errors import SetupFailed, StoreUnavailable
from knotwork.ports.vector_store import Collection

ROOM_BYTES = 128 * 2**20  # kept free: Edge writes through mapped files, and a full disk kills the process that does
_TURN = "~"
DISK_BLOCK = 512  # the unit of st_blocks


@dataclass(frozen=True, slots=True)
class LiveShard:
    """What a collection's pointer file says: the shard's folder, and the embedding model whose vectors it holds."""

    folder: str
    model: str
    dimension: int


class EdgeFolder:
    """`<collection>.live` points at `<physical name>/`; `lock` is held by the process that owns the shards."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock: IO[str] | None = None

    def lock(self) -> None:
        """Take the folder for this process; a lock dies with its process.

        Raises:
            SetupFailed: another process has it.
        """
        self._path.mkdir(parents=True, exist_ok=True)
        file = (self._path / "lock").open("a+", encoding="utf-8")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.seek(0)
            owner = file.read().strip() or "unknown"
            file.close()
            raise SetupFailed(
                f"the vector store in {self._path} belongs to a running process (pid {owner}); "
                "talk to that service, stop it, or set KNOTWORK_HOME to another folder"
            ) from error
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        self._lock = file

    def unlock(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def shard_path(self, folder: str) -> Path:
        return self._path / folder

    def live(self, collection: Collection) -> LiveShard | None:
        """The collection's live shard; None before its first."""
        with suppress(FileNotFoundError):
            return LiveShard(**json.loads(self._pointer(collection).read_text(encoding="utf-8")))
        return None

    def set_live(self, collection: Collection, shard: LiveShard) -> None:
        """Point the collection at this shard: after a crash the pointer is the old one or the new one, whole."""
        pointer = self._pointer(collection)
        draft = pointer.with_suffix(".draft")
        with draft.open("w", encoding="utf-8") as file:
            json.dump(asdict(shard), file)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(pointer)
        with _directory(self._path) as descriptor:
            os.fsync(descriptor)

    def require_room(self) -> None:
        """See that the disk has room for more points.

        Raises:
            StoreUnavailable: it is nearly full.
        """
        free = shutil.disk_usage(self._path).free
        if free < ROOM_BYTES:
            raise StoreUnavailable(
                "Qdrant Edge",
                f"{free >> 20} MB are free on the disk of {self._path}, {ROOM_BYTES >> 20} are kept free; make room",
            )

    def size_bytes(self) -> int:
        """What all files of the folder take on the disk; Edge makes them large, and fills them by and by."""
        return sum(path.stat().st_blocks * DISK_BLOCK for path in self._path.rglob("*") if path.is_file())

    def _pointer(self, collection: Collection) -> Path:
        return self._path / f"{collection.value}.live"


def other_folder(folder: str) -> str:
    """Where the copy goes that takes a shard's place: two names take turns."""
    return folder.removesuffix(_TURN) if folder.endswith(_TURN) else folder + _TURN


@contextmanager
def _directory(path: Path) -> Generator[int]:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
