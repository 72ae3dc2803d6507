"""What is known of a server being away, so that not every caller waits to find it out."""

from __future__ import annotations

import time
from collections.abc import Callable

from knotwork.errors import StoreUnavailable

AGAIN_S = 1.0  # how long after an attempt that failed nobody else tries
ONCE = -1.0  # the driver's retry time for a single attempt: with 0 it may make two, a delay apart


class Availability:
    """Whether the server could be reached when last tried."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._tried_at: float | None = None  # None: it answered

    @property
    def is_away(self) -> bool:
        """Whether the last attempt could not reach it."""
        return self._tried_at is not None

    def begin_probe(self) -> None:
        """Take it upon the caller to try a server that is away; others are told to come again meanwhile.

        Raises:
            StoreUnavailable: somebody tried within the last second.
        """
        now = self._clock()
        if self._tried_at is not None and now - self._tried_at < AGAIN_S:
            raise StoreUnavailable("Neo4j", "it could not be reached a moment ago")
        self._tried_at = now

    def failed(self) -> None:
        """An attempt could not reach the server."""
        self._tried_at = self._clock()

    def answered(self) -> None:
        """An attempt reached the server."""
        self._tried_at = None
