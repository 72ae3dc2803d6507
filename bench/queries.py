"""Latency of each mode on a real corpus, against the bare store calls it needs, in one run.

    python -m bench.queries --corpus 2wiki [--limit N]

The questions of 2wiki-51 and musique-60 are asked one after another, each in turns by `Retrieval` and by bare calls:
the question embedded by the same embedder, then the same queries of Qdrant Edge and the same Cypher of Neo4j with the
same parameters, through engine and driver, as noted from the service's own answer. Compared is what the service
adds: filters built, rows made values, rankings fused, the walk over the graph. Demand: at most twice as long.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import statistics
import tempfile
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, LiteralString, cast

import neo4j
import qdrant_edge as edge
from bench.ingest import TENANT, ingest
from bench.support import CORPORA, DATA, bolt_driver, documents, machine, questions, table

from knotwork.adapters.neo4j.session import Transaction
from knotwork.adapters.neo4j.statements import statement
from knotwork.adapters.qdrant.edge_shard import OwnedShard
from knotwork.bootstrap import Platform, open_platform
from knotwork.config import Settings
from knotwork.domain.metrics import percentile
from knotwork.domain.model import EVERYONE, Subject
from knotwork.domain.retrieval import Mode, Reader, RetrieveOptions

MODES = (Mode.SEMANTIC, Mode.KEYWORD, Mode.HYBRID, Mode.LOCAL)
READER = Reader(TENANT, (EVERYONE, Subject("user:ana")))
WARM_UP = 10  # questions asked before any is counted


@dataclass
class Asked:
    """The calls of the stores that one answer made: Edge's on their shards, and statements with parameters."""

    edge: list[tuple[OwnedShard, Callable[[edge.EdgeShard], object]]] = field(
        default_factory=list[tuple[OwnedShard, Callable[[edge.EdgeShard], object]]]
    )
    cypher: list[tuple[str, Mapping[str, object]]] = field(default_factory=list[tuple[str, Mapping[str, object]]])


@asynccontextmanager
async def noting(asked: Asked) -> AsyncGenerator[None]:
    """Note what the adapters ask of engine and driver."""
    query, read, rows = OwnedShard.query, OwnedShard.read, Transaction.rows

    async def note_query(self: OwnedShard, request: edge.QueryRequest) -> list[edge.ScoredPoint]:
        asked.edge.append((self, lambda shard: shard.query(request)))
        return await query(self, request)

    async def note_read(self: OwnedShard, operation: str, work: Callable[[edge.EdgeShard], Any]) -> Any:
        asked.edge.append((self, work))
        return await read(self, operation, work)

    async def note_rows(self: Transaction, name: str, **parameters: object) -> Any:
        asked.cypher.append((name, parameters))
        return await rows(self, name, **parameters)

    patched: list[tuple[Any, str, Any, Any]] = [
        (OwnedShard, "query", note_query, query),
        (OwnedShard, "read", note_read, read),
        (Transaction, "rows", note_rows, rows),
    ]
    for owner, name, noted, _ in patched:
        setattr(owner, name, noted)
    try:
        yield
    finally:
        for owner, name, _, original in patched:
            setattr(owner, name, original)


async def ask_bare(platform: Platform, driver: neo4j.AsyncDriver, asked: Asked, question: str | None) -> None:
    """The same calls with nothing around them, one after another: each in a thread, or in one read transaction."""
    if question is not None:
        await platform.embedder.embed([question], purpose="query")
    for shard, work in asked.edge:
        await shard.read("bare", work)
    for name, parameters in asked.cypher:

        async def run(
            tx: neo4j.AsyncManagedTransaction, name: str = name, parameters: Mapping[str, object] = parameters
        ) -> None:
            result = await tx.run(cast("LiteralString", statement(name)), dict(parameters))
            [record async for record in result]

        async with driver.session() as session:
            await session.execute_read(run)


async def measure(
    platform: Platform, driver: neo4j.AsyncDriver, mode: Mode, asked_for: Sequence[str]
) -> tuple[list[float], list[float], Asked]:
    """Milliseconds of each answer by the service and by bare calls, and what the last one asked."""
    ours: list[float] = []
    bare: list[float] = []
    asked = Asked()
    options = RetrieveOptions()
    for place, question in enumerate([*asked_for[:WARM_UP], *asked_for]):
        asked = Asked()
        async with noting(asked):
            await platform.retrieval.query(READER, question, mode, options)

        async def ask_ours(question: str = question) -> None:
            await platform.retrieval.query(READER, question, mode, options)

        async def ask_same(question: str = question, asked: Asked = asked) -> None:
            await ask_bare(platform, driver, asked, None if mode is Mode.KEYWORD else question)

        turns = [(ours, ask_ours), (bare, ask_same)]
        for times, ask in turns if place % 2 else reversed(turns):
            started = time.perf_counter()
            await ask()
            if place >= WARM_UP:
                times.append((time.perf_counter() - started) * 1000)
    return ours, bare, asked


async def main(corpus: str, data: Path, limit: int | None, count: int, home: Path | None) -> int:
    print(f"bench.queries --corpus {corpus}{f' --limit {limit}' if limit else ''}: {machine()}")
    folder = Path(tempfile.mkdtemp(prefix="bench-queries-"))
    rows: list[Sequence[object]] = []
    worst = 0.0
    try:
        settings = Settings(home=home or folder)
        async with open_platform(settings) as platform:
            if TENANT not in await platform.catalogue.tenants():
                await ingest(platform, documents(corpus, data, limit))
            counts = await platform.catalogue.counts(TENANT)
            print(", ".join(f"{name} {number:,}" for name, number in counts.items()))
            asked_for = questions(data)[:count]
            async with bolt_driver(platform) as driver:
                for mode in MODES:
                    ours, bare, asked = await measure(platform, driver, mode, asked_for)
                    ratio = statistics.median(ours) / statistics.median(bare)
                    worst = max(worst, ratio)
                    ends = [percentile(times, share) for times in (bare, ours) for share in (0.5, 0.95)]
                    rows.append([mode.value, *ends, ratio, len(asked.edge), len(asked.cypher)])
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    table(
        f"{len(asked_for)} questions, ten passages each, one at a time; ms",
        ["mode", "bare p50", "p95", "ours p50", "p95", "ratio", "Edge calls", "Cypher calls"],
        rows,
    )
    print(f"\nlargest ratio of medians: {worst:.2f} (demand: at most 2)")
    return 0 if worst <= 2 else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", choices=sorted(CORPORA), default="2wiki")
    parser.add_argument("--limit", type=int, help="ingest only the first N records")
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the corpora and questions")
    parser.add_argument("--home", type=Path, help="a home to keep: a corpus that it holds is not ingested again")
    arguments = parser.parse_args()
    raise SystemExit(
        asyncio.run(main(arguments.corpus, arguments.data, arguments.limit, arguments.questions, arguments.home))
    )
