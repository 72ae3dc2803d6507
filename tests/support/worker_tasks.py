"""Functions for worker processes to run: a worker imports them by name, and cannot import a test file."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from knotwork.errors import NotFound, SetupFailed


def process_id() -> int:
    return os.getpid()


def work(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


def print_and_double(value: bytes) -> bytes:
    os.write(1, b"a library that prints")
    return value * 2


def crash_unless_marked(marker: Path) -> int:
    """Die as a process short of memory dies, at the first call only."""
    if marker.exists():
        return os.getpid()
    marker.touch()
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


def crash() -> None:
    os._exit(7)


def fail_with_setup() -> None:
    raise SetupFailed("the file is missing")


def fail_with_facts() -> None:
    raise NotFound("source", "a.md")


def fail_with_a_vendors_error() -> None:
    raise ZeroDivisionError("x" * 10_000)


def settings_seen() -> list[str]:
    return [name for name in os.environ if name.startswith("KNOTWORK_")]


def niceness() -> int:
    return os.getpriority(os.PRIO_PROCESS, 0)


def spacy_is_loaded() -> bool:
    return "spacy" in sys.modules
