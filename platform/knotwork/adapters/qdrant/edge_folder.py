"""The folder of the embedded vector store: its owner's lock, and a pointer file to each collection's shard."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

from knotwork.errors import SetupFailed, StoreUnavailable
from knotwork.ports.vector_store import Collection

ROOM_BYTES = 128 * 2**20  # kept free: Edge writes through mapped files, and a full disk kills the process that does
_TURN = "~"
DISK_BLOCK = 512  # the unit of st_blocks
_POINTERS = "shards.json"

Role: TypeAlias = Literal["live", "next"]  # what answers, and what is being filled to take its place


@dataclass(frozen=True, slots=True)
class Pointer:
    """Where a collection is: the shard's folder, and the embedding model whose vectors it holds."""

    folder: str
    model: str
    dimension: int


class EdgeFolder:
    """`shards.json` points at `<physical name>/` for each collection; `lock` is held by the process that owns them.

    One file holds all pointers, so that a change of model moves every collection at once.
    """

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

    def pointers(self, role: Role = "live") -> dict[Collection, Pointer]:
        """The shards in this role."""
        return {Collection(name): Pointer(**values) for name, values in self._read().get(role, {}).items()}

    def point(self, pointers: Mapping[Collection, Pointer], role: Role = "live") -> None:
        """Point these collections at these shards, leave others: after a crash it is done for all of them, or none."""
        stored = self._read()
        stored.setdefault(role, {}).update({name.value: asdict(pointer) for name, pointer in pointers.items()})
        self._write(stored)

    def promote(self) -> None:
        """What is next becomes live: after a crash it is done for all collections, or none.

        Calling it again changes nothing.
        """
        stored = self._read()
        if "next" not in stored:
            return
        try:
            self._write({"live": stored["next"]})
        except OSError:  # what went wrong may have come after it was done
            if self._read() != {"live": stored["next"]}:
                raise

    def forget_next(self) -> None:
        """Point at nothing that is being filled."""
        self._write({"live": self._read().get("live", {})})

    def remove_unnamed(self) -> None:
        """Remove shards that no pointer names."""
        named = {pointer["folder"] for role in self._read().values() for pointer in role.values()}
        for path in self._path.iterdir():
            if path.is_dir() and path.name not in named:
                shutil.rmtree(path)

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

    def _read(self) -> dict[str, dict[str, dict[str, Any]]]:
        try:
            return json.loads((self._path / _POINTERS).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}

    def _write(self, stored: Mapping[str, Mapping[str, object]]) -> None:
        pointers = self._path / _POINTERS
        draft = pointers.with_suffix(".draft")
        with draft.open("w", encoding="utf-8") as file:
            json.dump(stored, file)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(pointers)
        with _directory(self._path) as descriptor:
            os.fsync(descriptor)


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
