"""The law of the graph, tried for as long as one likes: `python -m support.soak [--minutes N] [--histories N]`.

Histories are drawn anew on each run. A failing one is shrunk, shown, and counted, and the soak goes on; it ends with
what was done, and with an error if a history failed.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import tempfile
import time
import traceback
from pathlib import Path

import structlog
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from knotwork.adapters.neo4j.embedded import EmbeddedNeo4j
from support.law_machine import HASH_SEED, LAW, Law, World
from support.law_process import Processes

ROUND = 10  # histories between two looks at the clock


def soak(world: World, *, minutes: float, histories: int) -> int:
    """Try histories until the time is over or there are enough; how many failed."""
    Law.world = world
    failed, started = 0, time.monotonic()
    while time.monotonic() - started < 60 * minutes and world.done["histories"] < histories:
        try:
            run_state_machine_as_test(Law, settings=settings(LAW, max_examples=ROUND, print_blob=True))
        except Exception:  # noqa: BLE001 - whatever a history ends with, it is counted and the next are tried
            failed += 1
            traceback.print_exc()
        minutes_so_far = (time.monotonic() - started) / 60
        print(f"{minutes_so_far:.1f} min, failed {failed}, {_told(world)}", flush=True)  # noqa: T201 - its purpose
    return failed


def _told(world: World) -> str:
    return ", ".join(f"{name} {world.done[name]:,}" for name in sorted(world.done))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--histories", type=int, default=1_000_000)
    arguments = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    with tempfile.TemporaryDirectory(prefix="knotwork-soak-") as folder:
        server, loop = EmbeddedNeo4j(Path(folder) / "neo4j"), asyncio.new_event_loop()
        world = World(loop.run_until_complete(server.start()), Path(folder), Processes(HASH_SEED), loop=loop)
        try:
            failed = soak(world, minutes=arguments.minutes, histories=arguments.histories)
        finally:
            world.run(server.stop())
            world.close()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
