"""How long a start of the embedded Neo4j takes, with the archive of its classes and without.

    python -m bench.start [--starts 3]

Each start has a new home. Seconds are until it serves; processor time is Neo4j's own until then. The archive is made
first if this machine has none yet; its time is told.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import psutil
from bench.support import machine, table

from knotwork.adapters.neo4j.class_archive import ClassArchive
from knotwork.adapters.neo4j.embedded import EmbeddedNeo4j
from knotwork.adapters.neo4j.jars import default_cache, provide_jars

MAKING_S = 600


async def start() -> tuple[float, float]:
    """Seconds, and seconds of processor time."""
    with tempfile.TemporaryDirectory() as folder:
        server = EmbeddedNeo4j(Path(folder))
        began = time.monotonic()
        address = await server.start()
        try:
            seconds = time.monotonic() - began
            used = psutil.Process(address.pid).cpu_times()
        finally:
            await server.stop()
        return seconds, used.user + used.system


async def made(archive: ClassArchive) -> float | None:
    """See that there is an archive; how long it took to make, or None where it was there."""
    if is_there(archive):
        return None
    with tempfile.TemporaryDirectory() as folder:
        server = EmbeddedNeo4j(Path(folder))
        await server.start()
        began = time.monotonic()
        try:
            async with asyncio.timeout(MAKING_S):
                while not is_there(archive):  # noqa: ASYNC110  a thread of the archive's sets no event of ours
                    await asyncio.sleep(0.2)
        finally:
            await server.stop()
        return time.monotonic() - began


def is_there(archive: ClassArchive) -> bool:
    return any("SharedArchiveFile" in option for option in archive.options(Path("unused")))


@contextmanager
def without_archive() -> Generator[None]:
    with mock.patch.object(ClassArchive, "options", return_value=()), mock.patch.object(ClassArchive, "make"):
        yield


def silent(_done: int, _total: int, _text: str) -> None:
    pass


async def run(starts: int) -> None:
    jars = provide_jars(default_cache(), on_progress=silent, abort=threading.Event())
    took = await made(ClassArchive(default_cache(), jars))
    figures: dict[str, list[tuple[float, float]]] = {"without": [], "with": []}
    for _ in range(starts):  # in turns, so that a busy moment falls on both
        with without_archive():
            figures["without"].append(await start())
        figures["with"].append(await start())
    rows = [
        [name, f"{statistics.median(s for s, _ in found):.1f}", f"{statistics.median(c for _, c in found):.1f}"]
        for name, found in figures.items()
    ]
    print(machine())
    table("A start of Neo4j, median", ["archive of its classes", "seconds", "of processor time"], rows)
    if took is not None:
        print(f"made in {took:.0f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=3)
    asyncio.run(run(parser.parse_args().starts))


if __name__ == "__main__":
    main()
