"""Ids of runs and records: they sort by time of making. Nothing of the graph is named by them."""

from __future__ import annotations

import os
import threading
import time

_lock = threading.Lock()
_last = 0


def new_run_id() -> str:
    """A 32-digit hexadecimal id, greater than every id made before by this process: 64 bits of time, 64 of chance."""
    global _last  # noqa: PLW0603 - one counter a process keeps ids in order within one clock tick
    with _lock:
        _last = max(_last + 1, time.time_ns())
        return f"{_last:016x}{os.urandom(8).hex()}"
