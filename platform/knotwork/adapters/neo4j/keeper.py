"""Keeps a server running that should run: starts it again when it dies, and gives up on one that keeps dying."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

import structlog

from knotwork.errors import SetupFailed

log = structlog.get_logger(__name__)

WATCH_S = 1.0  # how often the server is looked after
QUICK_S = 60.0  # a server that dies sooner after its start has died quickly
MOST_QUICK_DEATHS = 8  # in about two minutes, with the pauses between them
FIRST_PAUSE_S, LAST_PAUSE_S = 1.0, 30.0  # before a start that follows a quick death; the pause doubles


class Keeper:
    """Watches one server. `trouble` says in words what is wrong with it; None: nothing is."""

    def __init__(
        self,
        is_gone: Callable[[], Awaitable[bool]],
        restart: Callable[[], Awaitable[None]],
        *,
        watch_s: float = WATCH_S,
        first_pause_s: float = FIRST_PAUSE_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Nothing is watched before `run`; a start that fails counts as a quick death.

        Args:
            is_gone: Whether the server should run and does not.
            restart: Starts it, and returns once it serves; raises SetupFailed or OSError.
            watch_s: Seconds between looks at it.
            first_pause_s: Seconds before the start that follows a first quick death.
            clock: Seconds that only grow.
        """
        self._is_gone, self._restart = is_gone, restart
        self._watch_s, self._first_pause_s, self._clock = watch_s, first_pause_s, clock
        self.trouble: str | None = None

    async def run(self) -> None:
        """Watch until cancelled, or until the server has died quickly for the last time that is put up with."""
        started_at, quick_deaths = float("-inf"), 0
        while True:
            await asyncio.sleep(self._watch_s)
            if not await self._is_gone():
                continue
            quick_deaths = quick_deaths + 1 if self._clock() - started_at < QUICK_S else 0
            if quick_deaths >= MOST_QUICK_DEATHS:
                return self._give_up(quick_deaths)
            self.trouble = self.trouble or "its process ended; it is being started again"
            pause_s = min(self._first_pause_s * 2 ** (quick_deaths - 1), LAST_PAUSE_S) if quick_deaths else 0.0
            log.warning("neo4j_gone", quick_deaths=quick_deaths, restart_in_s=pause_s)
            await asyncio.sleep(pause_s)
            try:
                await self._restart()
            except (SetupFailed, OSError) as error:
                self.trouble = f"its process ended and could not be started again: {error}"
                log.exception("neo4j_restart_failed")
            else:
                self.trouble = None
            started_at = self._clock()

    def _give_up(self, deaths: int) -> None:
        last = f"; the last time, {self.trouble}" if self.trouble else ""
        self.trouble = (
            f"it ended {deaths} times within {QUICK_S:.0f} s of its start and is not started again{last}; "
            "see `knotwork doctor`, then `knotwork down` and `knotwork up`"
        )
        log.error("neo4j_given_up", deaths=deaths, reason=self.trouble)
