"""What a home tells about its service: its address, its owner, the words of a start, its log."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import psutil

CLOCK_TOLERANCE_S = 1.0
LOG_LINES = 12


@dataclass(frozen=True, slots=True)
class Service:
    """A service that runs."""

    url: str
    pid: int
    started_at: float  # seconds since the epoch
    version: str
    operator_token: str = field(repr=False)
    browser_url: str | None = None  # None: a Neo4j of the user's own


@dataclass(frozen=True, slots=True)
class Startup:
    """What a starting service says of itself; a total of 0 is not known."""

    text: str
    done: int
    total: int


def log_path(home: Path) -> Path:
    """The service's log."""
    return home / "logs" / "service.log"


def console_path(home: Path) -> Path:
    """What a service started in the background printed, such as the reason why it could not start."""
    return home / "logs" / "console.log"


def read_service(home: Path) -> Service | None:
    """The running service of this home by its record; None when there is none, or the record outlived its process.

    A process id alone may belong to another program by now, so the time of the process's creation must agree too.
    """
    record = _read_json(home / "service.json")
    try:
        process = psutil.Process(int(record["pid"]))
        started_at = process.create_time()
        if abs(started_at - float(record["pid_created"])) > CLOCK_TOLERANCE_S:
            return None
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        return Service(
            url=str(record["url"]),
            pid=process.pid,
            started_at=started_at,
            version=str(record["version"]),
            operator_token=str(record["operator_token"]),
            browser_url=record.get("browser_url"),
        )
    except (KeyError, TypeError, ValueError, psutil.Error):
        return None


def read_startup(home: Path) -> Startup | None:
    """What the starting service last said."""
    record = _read_json(home / "startup.json")
    try:
        return Startup(str(record["text"]), int(record["done"]), int(record["total"]))
    except (KeyError, TypeError, ValueError):
        return None


def owner(home: Path) -> psutil.Process | None:
    """The process that serves this home, or is starting or stopping to: the holder of its lock.

    The lock is tried for a moment, so a service that starts in that moment may give way and be started again.
    """
    lock = home / "service.lock"
    if not lock.exists():
        return None
    with turn(lock) as free:
        if free:
            return None
        try:
            return psutil.Process(int(lock.read_text("ascii")))
        except (OSError, ValueError, psutil.Error):
            return None  # it has just begun, or just ended


@contextmanager
def turn(lock: Path) -> Generator[bool]:
    """Try to hold a lock file for the block; whether it is ours. The kernel frees it when its holder dies."""
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)


def tail(path: Path) -> list[str]:
    """The last lines of a log."""
    try:
        return path.read_text("utf-8", "replace").splitlines()[-LOG_LINES:]
    except OSError:
        return []


def _read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file that its writer replaces as a whole; empty when there is none."""
    try:
        value = cast("object", json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
