"""What the benches of the whole platform share: corpora, stage timers, tables, and what the machine was doing."""

from __future__ import annotations

import contextvars
import datetime as dt
import functools
import gzip
import json
import os
import time
from collections import defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import neo4j

from knotwork.adapters.neo4j.server_home import ServerHome
from knotwork.bootstrap import Platform
from knotwork.domain.model import EVERYONE, ParsedText, Source, SourceRef

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
CORPORA = {"2wiki": "2wiki-corpus-6119/corpus.jsonl.gz", "podcast": "podcast-1669/documents.jsonl.gz"}
QUESTIONS = ("2wiki-51/questions.jsonl", "musique-60/questions.jsonl")
QUIET_LOAD = 2.5  # of `uptime`; above it, other work took a share of the processors
TICKS = os.sysconf("SC_CLK_TCK")

Document = tuple[Source, ParsedText]


def documents(corpus: str, data: Path, limit: int | None) -> list[Document]:
    """The records of a corpus, one source each, in the order of the file."""
    found: list[Document] = []
    for record in _records(data / CORPORA[corpus]):
        if limit is not None and len(found) == limit:
            break
        parsed = ParsedText(record["text"].replace("\r\n", "\n"), record.get("title", ""))
        found.append((Source(SourceRef("document", record["id"]), parsed.title, "", (EVERYONE,), {}), parsed))
    return found


def questions(data: Path) -> list[str]:
    """The questions asked of 2wiki and of musique."""
    return [record["question"] for name in QUESTIONS for record in _records(data / name)]


def _records(path: Path) -> Iterator[dict[str, Any]]:
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return map(json.loads, text.splitlines())


def machine() -> str:
    """When, on how many processors, and whether other work took a share of them."""
    load = os.getloadavg()[0]
    state = "quiet" if load < QUIET_LOAD else "under load: absolute figures are too low"
    return f"{dt.datetime.now(dt.UTC):%Y-%m-%d %H:%M} UTC, {os.cpu_count()} cores, load {load:.1f} ({state})"


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table: the first column to the left, figures to the right."""
    cells = [list(columns), *([_cell(value) for value in row] for row in rows)]
    widths = [max(len(row[place]) for row in cells) for place in range(len(columns))]
    print(f"\n{title}")
    for row in cells:
        first, *others = (
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        print("  ".join([first, *others]).rstrip())


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


@dataclass
class Stages:
    """Seconds awaited in each stage; a stage within another counts for itself alone."""

    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    calls: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    _inner: contextvars.ContextVar[list[float] | None] = field(
        default_factory=lambda: contextvars.ContextVar("inner", default=None)
    )

    @contextmanager
    def timing(self, methods: Sequence[tuple[type, str, str]]) -> Generator[None]:
        """While open, every await of these (class, method, stage) is timed; the product's code knows nothing of it."""
        before = [(owner, name, owner.__dict__.get(name)) for owner, name, _ in methods]
        for owner, name, stage in methods:
            setattr(owner, name, self._timed(getattr(owner, name), stage))
        try:
            yield
        finally:
            for owner, name, method in before:
                if method is None:
                    delattr(owner, name)
                else:
                    setattr(owner, name, method)

    def _timed(self, method: Callable[..., Awaitable[Any]], stage: str) -> Callable[..., Awaitable[Any]]:
        @functools.wraps(method)
        async def call(*args: Any, **kwargs: Any) -> Any:
            outer, mine = self._inner.get(), [0.0]
            token = self._inner.set(mine)
            started = time.perf_counter()
            try:
                return await method(*args, **kwargs)
            finally:
                elapsed = time.perf_counter() - started
                self._inner.reset(token)
                self.seconds[stage] += max(0.0, elapsed - mine[0])
                self.calls[stage] += 1
                if outer is not None:
                    outer[0] += elapsed

        return call


def resident_mb() -> tuple[float, float]:
    """Resident memory of this process in MB: all of it, and without pages of files, which the system may take back."""
    values = {
        line.split(":")[0]: int(line.split()[1])
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        if line.startswith(("VmRSS", "RssAnon"))
    }
    return values["VmRSS"] / 1024, values["RssAnon"] / 1024


def cpu_seconds() -> dict[str, float]:
    """Processor time so far of this process (`service`), its model workers (`workers`) and `neo4j`."""
    spent = {"service": time.process_time(), "workers": 0.0, "neo4j": 0.0}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = stat.read_text(encoding="utf-8").rpartition(")")
        except OSError:  # it ended meanwhile
            continue
        fields = rest.split()
        if int(fields[1]) == os.getpid():
            kind = "neo4j" if "java" in name else "workers"
            spent[kind] += (int(fields[11]) + int(fields[12])) / TICKS
    return spent


@asynccontextmanager
async def bolt_driver(platform: Platform) -> AsyncGenerator[neo4j.AsyncDriver]:
    """A driver of the bench's own for the platform's embedded Neo4j."""
    if platform.browser is None:
        raise SystemExit("the bench compares with the embedded Neo4j; unset KNOTWORK_NEO4J_URI")
    password = ServerHome(platform.settings.home.expanduser().resolve() / "neo4j").password()
    async with neo4j.AsyncGraphDatabase.driver(
        platform.browser.bolt_uri,
        auth=(platform.browser.user, password),
        notifications_min_severity=neo4j.NotificationMinimumSeverity.OFF,
    ) as driver:
        yield driver
