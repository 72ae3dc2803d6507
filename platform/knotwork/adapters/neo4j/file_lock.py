"""Locks between processes, held on a file and freed by the kernel when their holder dies."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from knotwork.errors import SetupFailed

POLL_S = 0.05


def check_abort(abort: threading.Event) -> None:
    """Raise SetupFailed once `abort` is set; long work in a thread calls it between its steps."""
    if abort.is_set():
        raise SetupFailed("the start of Neo4j was cancelled; start again")


@contextmanager
def exclusive(path: Path, abort: threading.Event) -> Generator[None]:
    """Hold `path` alone; whoever comes second waits.

    Raises:
        SetupFailed: `abort` was set while waiting.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        # Polled, because a thread that blocks in flock cannot be told to give up.
        while not _try_lock(descriptor, fcntl.LOCK_EX):
            check_abort(abort)
            time.sleep(POLL_S)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def held_if_free(path: Path) -> Generator[int | None]:
    """Hold `path` alone, unless another process does: then yield None.

    Else the locked descriptor; a child that inherits it keeps the lock beyond the block.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        yield descriptor if _try_lock(descriptor, fcntl.LOCK_EX) else None
    finally:
        os.close(descriptor)


class UseCount:
    """Counts the live users of a thing by shared locks on one file; a killed user is not counted."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def enter(self) -> None:
        """Count this object as a user; a repeated call changes nothing."""
        if self._descriptor is None:
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.flock(self._descriptor, fcntl.LOCK_SH)

    def leave(self) -> bool:
        """Stop counting this object; True when no user is left. Callers exclude each other by another lock."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            return _try_lock(descriptor, fcntl.LOCK_EX)
        finally:
            os.close(descriptor)


def _try_lock(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
