"""The files by which other processes find a service: its lock, its start, its address."""

from __future__ import annotations

import fcntl
import json
import os
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from knotwork.errors import SetupFailed

SERVICE, STARTUP, LOCK = "service.json", "startup.json", "service.lock"
PROGRESS_S = 0.2  # between two writes of a start's progress


@contextmanager
def service_lock(home: Path) -> Generator[None]:
    """Hold a home alone, and closed to other users; the kernel frees it when this process dies.

    Raises:
        SetupFailed: another process serves this home.
    """
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    if home.stat().st_uid == os.geteuid():
        home.chmod(0o700)  # it may have been made by hand, and holds documents and a password
    descriptor = os.open(home / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.read(descriptor, 100).decode("ascii", "replace").strip() or "unknown"
            raise SetupFailed(
                f"process {holder} already serves {home}; use it, stop it with `knotwork down`, or name another home "
                "with --home or KNOTWORK_HOME"
            ) from error
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def private_files() -> Generator[None]:
    """Make files and folders that their owner alone can read, whatever the process was started with."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def write_private(path: Path, values: Mapping[str, object]) -> None:
    """Write JSON that its owner alone can read; a reader sees the old file or the new one, never half."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    partial.unlink(missing_ok=True)
    with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump(values, file)
    partial.replace(path)


class StartProgress:
    """Writes how far a start has come, for the command line to show; it is called from any thread."""

    def __init__(self, home: Path) -> None:
        self._path = home / STARTUP
        self._written_at = float("-inf")
        self._text = ""
        self._lock = threading.Lock()
        self._is_over = False

    def __call__(self, done: int, total: int, text: str) -> None:
        with self._lock:
            now = time.monotonic()
            if self._is_over or (text == self._text and done < total and now - self._written_at < PROGRESS_S):
                return
            self._text, self._written_at = text, now
            write_private(self._path, {"text": text, "done": done, "total": total, "pid": os.getpid()})

    def end(self) -> None:
        """Remove the file; later calls do nothing."""
        with self._lock:
            self._is_over = True
            self._path.unlink(missing_ok=True)
