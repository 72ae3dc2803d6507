"""A tenant of 100,000 chunks: does anything grow with the corpus that should not?

    python -m bench.scale [--chunks 100000] [--home DIR]

Synthetic documents of ten chunks each go through `Intake` into a new home, with models that cost nothing: vectors made
of a text's digest, and entities read from the text by a pattern. Five names stand in every fifth chunk each, so that at
the end each is a hub of 20,000 mentions; all others follow a long tail. Printed are chunks a second for each tenth,
memory, disk, what an edit, a deletion and an unchanged document cost after a tenth and at the end, how long questions
take then, and writes against bare calls of the stores.

The documents worked on are drawn at random. The first ones are deleted besides: of descriptions of one length the least
wins, so that theirs are those of all hubs, and each of these deletions has to find the next best among all mentions.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
import resource
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from hashlib import shake_128
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Literal

import numpy as np
from bench.edits import counted_writes
from bench.ingest import IN_FLIGHT, TENANT, compare_graph, compare_vectors, written
from bench.support import bolt_driver, machine, resident_mb, table

from knotwork.bootstrap import Models, Platform, open_platform
from knotwork.config import Settings
from knotwork.domain.catalogue import RunState, TenantSettings
from knotwork.domain.metrics import percentile
from knotwork.domain.model import EVERYONE, ParsedText, Source, SourceRef, Usage
from knotwork.domain.retrieval import Mode, Reader, RetrieveOptions
from knotwork.ports.models import Embeddings, Extraction, ExtractionInput

CHUNKS_EACH = 10  # of a document
WORDS = 110  # of a paragraph: more than half a chunk, so that each paragraph is one
HUBS, HUB_SHARE = 5, 0.2
NAMES_EACH = 4  # of the long tail, in a chunk
COMPARED = 10_000  # chunks written again beside bare calls
REPEATS = 20  # of each operation
QUESTIONS = 60
TENTHS = 10
WORST = "source deleted whose words stand for the hubs"
FILLER = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in ("n", "r", "st", "l", "nd")]
NAME = re.compile(r"\b(?:Hub|Thing)\d+\b")


class DigestEmbedder:
    """Vectors made of a text's digest: equal text, equal vector, at no cost. Counts the texts."""

    id, dimension = "digest@384", 384

    def __init__(self) -> None:
        self.texts = 0

    async def embed(self, texts: Sequence[str], *, purpose: Literal["passage", "query"] = "passage") -> Embeddings:
        del purpose
        self.texts += len(texts)
        return Embeddings([self._vector(text) for text in texts], Usage())

    async def close(self) -> None:
        """Nothing to close."""

    def _vector(self, text: str) -> list[float]:
        numbers = np.frombuffer(shake_128(text.encode()).digest(self.dimension), dtype=np.int8).astype(np.float32) + 0.5
        return (numbers / np.linalg.norm(numbers)).tolist()


class PatternExtractor:
    """Entities are the names of the pattern, and each is related to the one after it. Counts its calls."""

    id, calls_model = "pattern/1", False

    def __init__(self) -> None:
        self.calls = 0

    async def extract(self, chunk: ExtractionInput) -> Extraction:
        self.calls += 1
        names = list(dict.fromkeys(NAME.findall(chunk.text)))
        entities = [
            {"name": name, "type": "service", "description": f"{name} as document {chunk.title} has it."}
            for name in names
        ]
        facts = [{"from": one, "to": other, "type": "calls", "description": ""} for one, other in pairwise(names)]
        return Extraction({"entities": entities, "relationships": facts})

    async def close(self) -> None:
        """Nothing to close."""


class Corpus:
    """Documents by number; the same number is the same document."""

    def __init__(self, chunks: int) -> None:
        self._names = chunks // 2  # distinct names of the long tail

    def paragraph(self, seed: str) -> str:
        dice = random.Random(seed)
        words = dice.choices(FILLER, k=WORDS)
        names = [f"Hub{number}" for number in range(HUBS) if dice.random() < HUB_SHARE]
        names += [f"Thing{int(self._names * dice.random() ** 3)}" for _ in range(NAMES_EACH)]
        for name in names:
            words[dice.randrange(len(words))] = name
        return " ".join(words) + "."

    def text(self, number: int, *, edited: int | None = None) -> str:
        """A document; with `edited`, one paragraph of it written anew."""
        seeds = [f"{number}/{place}" for place in range(CHUNKS_EACH)]
        if edited is not None:
            seeds[CHUNKS_EACH // 2] += f"/{edited}"
        return "\n\n".join(self.paragraph(seed) for seed in seeds)


@dataclass(frozen=True)
class Cost:
    """Medians of one operation."""

    extracted: float
    embedded: float
    rows: float
    seconds: float


class Scale:
    """One run of the bench over an open platform."""

    def __init__(
        self, platform: Platform, corpus: Corpus, embedder: DigestEmbedder, extractor: PatternExtractor
    ) -> None:
        self._platform, self._corpus, self._embedder, self._extractor = platform, corpus, embedder, extractor

    async def put(self, number: int, *, edited: int | None = None) -> None:
        source = Source(SourceRef("document", f"d{number:06}"), f"d{number:06}", "", (EVERYONE,), {})
        parsed = ParsedText(self._corpus.text(number, edited=edited), source.title)
        await self._finished((await self._platform.intake.put(TENANT, source, parsed)).id)

    async def delete(self, number: int) -> None:
        run = await self._platform.intake.delete(TENANT, SourceRef("document", f"d{number:06}"))
        await self._finished(run.id)

    async def ingest(self, first: int, last: int) -> float:
        """Put these documents, as many at once as a client would; seconds."""
        turns = asyncio.Semaphore(IN_FLIGHT * 4)

        async def put(number: int) -> None:
            async with turns:
                await self.put(number)

        started = time.perf_counter()
        await asyncio.gather(*(put(number) for number in range(first, last)))
        return time.perf_counter() - started

    async def costs(self, numbers: Sequence[int], winners: Sequence[int]) -> dict[str, Cost]:
        """What one of each operation costs, on these documents; those deleted, and the winners, are put again."""
        with counted_writes() as counts:
            found = {
                "one paragraph edited": await self._cost(numbers, lambda one: self.put(one, edited=1), counts),
                "unchanged": await self._cost(numbers, lambda one: self.put(one, edited=1), counts),
                "source deleted": await self._cost(numbers, self.delete, counts),
                WORST: await self._cost(winners, self.delete, counts),
            }
        for number in (*numbers, *winners):
            await self.put(number)
        return found

    async def latencies(self, documents: int) -> dict[Mode, tuple[float, float]]:
        """Median and 95th percentile of questions in each mode, in ms, when all have been asked once before.

        Each question is about a name of one of these documents and one of another, both of the long tail.
        """
        dice = random.Random(7)

        def name() -> str:
            paragraph = self._corpus.paragraph(f"{dice.randrange(documents)}/0")
            return dice.choice([name for name in NAME.findall(paragraph) if name.startswith("Thing")])

        asked = [f"What do {name()} and {name()} have in common?" for _ in range(QUESTIONS)]
        found: dict[Mode, tuple[float, float]] = {}
        for mode in (Mode.SEMANTIC, Mode.KEYWORD, Mode.HYBRID, Mode.LOCAL):
            times: list[float] = []
            for question in (*asked, *asked):
                started = time.perf_counter()
                await self._platform.retrieval.query(Reader(TENANT), question, mode, RetrieveOptions(top_k=8))
                times.append(1000 * (time.perf_counter() - started))
            found[mode] = (median(times[QUESTIONS:]), percentile(times[QUESTIONS:], 0.95))
        return found

    async def _cost(
        self, numbers: Sequence[int], operation: Callable[[int], Awaitable[None]], counts: Counter[str]
    ) -> Cost:
        seen: list[tuple[int, int, int, float]] = []
        for number in numbers:
            counts.clear()
            extracted, embedded, started = self._extractor.calls, self._embedder.texts, time.perf_counter()
            await operation(number)
            seconds = time.perf_counter() - started
            seen.append((self._extractor.calls - extracted, self._embedder.texts - embedded, counts["rows"], seconds))
        return Cost(*(float(median(column)) for column in zip(*seen, strict=True)))

    async def _finished(self, run_id: str) -> None:
        over = await self._platform.intake.wait(TENANT, run_id)
        if over.state is not RunState.DONE:
            raise SystemExit(f"a document was not indexed: {over.error}")


def disk_mb(folder: Path) -> float:
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file()) / 2**20


def show_growth(small: dict[str, Cost], large: dict[str, Cost], chunks: int) -> None:
    table(
        f"one operation, medians of {REPEATS}, at {chunks // TENTHS:,} and at {chunks:,} chunks",
        ["", "extracted", "embedded", "nodes and edges", "seconds", "times the seconds"],
        [
            [
                name,
                f"{before.extracted:.0f} / {large[name].extracted:.0f}",
                f"{before.embedded:.0f} / {large[name].embedded:.0f}",
                f"{before.rows:.0f} / {large[name].rows:.0f}",
                f"{before.seconds:.3f} / {large[name].seconds:.3f}",
                large[name].seconds / before.seconds,
            ]
            for name, before in small.items()
        ],
    )


def show_latencies(small: dict[Mode, tuple[float, float]], large: dict[Mode, tuple[float, float]], chunks: int) -> None:
    table(
        f"{QUESTIONS} questions, at {chunks // TENTHS:,} and at {chunks:,} chunks",
        ["", "p50 ms", "p95 ms", "times the p95"],
        [
            [mode.value, f"{p50:.1f} / {large[mode][0]:.1f}", f"{p95:.1f} / {large[mode][1]:.1f}", large[mode][1] / p95]
            for mode, (p50, p95) in small.items()
        ],
    )


async def main(chunks: int, home: Path) -> int:
    print(f"bench.scale --chunks {chunks}: {machine()}")
    documents = chunks // CHUNKS_EACH
    corpus, embedder, extractor = Corpus(chunks), DigestEmbedder(), PatternExtractor()
    settings = Settings(home=home / "home")
    async with open_platform(settings, models=Models(embedder, extractor)) as platform:
        await platform.catalogue.put_tenant(TENANT, TenantSettings())
        scale = Scale(platform, corpus, embedder, extractor)
        times: list[float] = []
        memory: list[float] = []

        async def ingest(tenth: int) -> None:
            first, last = documents * tenth // TENTHS, documents * (tenth + 1) // TENTHS
            times.append(await scale.ingest(first, last))
            memory.append(resident_mb()[1])
            print(f"{10 * (tenth + 1)} %: {chunks / TENTHS / times[-1]:,.0f} chunks/s", flush=True)

        await ingest(0)
        small_asked = await scale.latencies(documents // TENTHS)
        drawn = random.Random(3).sample(range(REPEATS, documents // TENTHS), REPEATS)
        small = await scale.costs(drawn, range(REPEATS))
        for tenth in range(1, TENTHS):
            await ingest(tenth)
        large_asked = await scale.latencies(documents // TENTHS)
        large = await scale.costs(drawn, range(REPEATS))
        stored = await platform.catalogue.counts(TENANT)
        table("stored", ["", "count"], [[name, count] for name, count in stored.items()])
        table(
            "ingest by tenths",
            ["", "chunks/s", "memory of the service, MB, without pages of files"],
            [[f"{10 * (n + 1)} %", chunks / TENTHS / times[n], round(memory[n])] for n in range(TENTHS)],
        )
        pace = times[-1] / times[0]
        print(f"the last tenth took {pace:.2f} times as long as the first (demand: at most 1.5)")
        print(f"peak memory of the service: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB")
        neo4j, qdrant = settings.home / "neo4j", settings.home / "qdrant"
        table(
            "disk, MB",
            ["", "MB"],
            [
                ["Neo4j, store", disk_mb(neo4j / "data" / "databases")],
                ["Neo4j, transaction logs", disk_mb(neo4j / "data" / "transactions")],
                ["Qdrant Edge", disk_mb(qdrant)],
            ],
        )
        show_growth(small, large, chunks)
        show_latencies(small_asked, large_asked, chunks)
        writes = await written(platform, limit=COMPARED)
        async with bolt_driver(platform) as driver:
            graph_ratio = await compare_graph(platform, driver, writes)
    vector_ratio = await compare_vectors(home / "again", embedder.dimension, writes)
    worst = max(large[name].seconds / small[name].seconds for name in small)
    print(f"\nlargest growth of an operation: {worst:.2f} (demand: at most 1.5)")
    print(f"graph writing {graph_ratio:.2f} times bare, vectors {vector_ratio:.2f} times bare")
    print(f"at the end: {machine()}")
    return 0 if pace <= 1.5 and worst <= 1.5 else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--home", type=Path, help="a new folder to keep")
    arguments = parser.parse_args()
    place = arguments.home or Path(tempfile.mkdtemp(prefix="bench-scale-"))
    try:
        code = asyncio.run(main(arguments.chunks, place))
    finally:
        if arguments.home is None:
            shutil.rmtree(place, ignore_errors=True)
    raise SystemExit(code)
