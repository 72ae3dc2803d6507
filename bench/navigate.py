"""Mode navigate against hybrid on the sample documents, and its latency where a search picks what is shown.

    python -m bench.navigate [--synthetic N]

The 26 sample documents are ingested into a home of their own. Each question that `samples/questions.jsonl` can find
evidence for is asked in both modes; a piece of evidence counts as found when a passage of its document is among the
first five, and when a passage that holds its quote is. With --synthetic, N documents of one passage each, with titles
that many of them share, stand in Qdrant Edge and in Neo4j, and what is measured is the time an answer takes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.ingest import TENANT, ingest
from bench.support import machine, table

from knotwork.adapters.parsing.registry import parse_bytes
from knotwork.bootstrap import Platform, open_platform
from knotwork.config import Settings
from knotwork.domain.catalogue import TenantSettings
from knotwork.domain.ids import chunk_id, content_hash
from knotwork.domain.metrics import bootstrap, percentile
from knotwork.domain.model import EVERYONE, Chunk, Heading, ParsedText, Passage, Source, SourceRef
from knotwork.domain.retrieval import Mode, Reader, RetrieveOptions
from knotwork.ports.catalogue import SourceWrite
from knotwork.ports.vector_store import Collection
from knotwork.services.points import chunk_point

SAMPLES = Path(__file__).resolve().parent.parent / "samples"
READER = Reader(TENANT, (EVERYONE,))
MODES = (Mode.HYBRID, Mode.NAVIGATE)
TOP_K = 5
BATCH = 5000
KINDS = ("report", "minutes", "review", "plan", "postmortem", "budget", "rota")
ASKED = ("the budget of team 77", "postmortem 4711", "who owns the retry budget?", "report", "minutes of week 12")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its evidence: (document, quote), and the mode that a person would choose for it."""

    text: str
    mode: str
    evidence: tuple[tuple[str, str], ...]


def questions() -> list[Asked]:
    rows = [json.loads(line) for line in (SAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
    return [
        Asked(row["question"], row["mode"], tuple((one["source"], one["quote"]) for one in row["supporting"]))
        for row in rows
        if row["supporting"]
    ]


def documents() -> list[tuple[Source, ParsedText]]:
    found: list[tuple[Source, ParsedText]] = []
    folder = SAMPLES / "documents"
    for path in sorted(folder.rglob("*.*")):
        parsed, media_type = parse_bytes(path.read_bytes(), path.name)
        ref = SourceRef("document", path.relative_to(folder).as_posix())
        found.append((Source(ref, parsed.title or path.name, "", (EVERYONE,), {}, media_type), parsed))
    return found


def shares(asked: Asked, passages: Sequence[Passage]) -> tuple[float, float, float]:
    """Of the evidence: the share whose document was found, whose quote was, and whether all quotes were."""
    sources = {passage.source.id for passage in passages if passage.source}
    texts = {(passage.source.id, " ".join(passage.text.split())) for passage in passages if passage.source}
    documents_found = [source in sources for source, _ in asked.evidence]
    quotes = [any(source == one and quote in text for one, text in texts) for source, quote in asked.evidence]
    return sum(documents_found) / len(quotes), sum(quotes) / len(quotes), float(all(quotes))


async def quality(platform: Platform) -> None:
    every = questions()
    rows: list[Sequence[object]] = []
    for mode, asked, label in [
        *((mode, every, "all") for mode in MODES),
        *((mode, [one for one in every if one.mode == Mode.NAVIGATE], "meant for navigate") for mode in MODES),
    ]:
        measured: list[tuple[float, float, float]] = []
        times: list[float] = []
        for one in asked:
            started = time.perf_counter()
            result = await platform.retrieval.query(READER, one.text, mode, RetrieveOptions(top_k=TOP_K))
            times.append((time.perf_counter() - started) * 1000)
            measured.append(shares(one, result.passages))
        cells: list[object] = [mode.value, f"{len(asked)} {label}"]
        for column in zip(*measured, strict=True):
            found = bootstrap([100 * value for value in column])
            cells.append(f"{found.mean:.1f} [{found.low:.0f}, {found.high:.0f}]")
        rows.append([*cells, percentile(times, 0.5), percentile(times, 0.95)])
    columns = ["mode", "questions", "documents in 5", "quotes in 5", "all quotes in 5", "p50 ms", "p95 ms"]
    table("sample documents, %, 95 % interval", columns, rows)


async def latency(platform: Platform, count: int) -> None:
    await platform.catalogue.put_tenant(TENANT, TenantSettings())
    vector = [1.0] + [0.0] * (platform.embedder.dimension - 1)
    for start in range(0, count, BATCH):
        numbers = range(start, min(count, start + BATCH))
        made = [_synthetic(number) for number in numbers]
        await platform.catalogue.put_sources(TENANT, [SourceWrite(source, parsed, []) for source, parsed, _ in made])
        points = [chunk_point(source, chunk, platform.embedder.id, vector) for source, _, chunk in made]
        await platform.vectors.upsert(TENANT, Collection.CHUNKS, points)
    rows: list[Sequence[object]] = []
    for reader, label in ((READER, "everything"), (Reader(TENANT, ("user:ana",)), "one in 1,000")):
        for question in ASKED:
            times: list[float] = []
            for _ in range(6):
                started = time.perf_counter()
                await platform.retrieval.query(reader, question, Mode.NAVIGATE, RetrieveOptions())
                times.append((time.perf_counter() - started) * 1000)
            rows.append([label, question, percentile(times[1:], 0.5), max(times[1:])])
    table(f"{count:,} documents", ["reader sees", "question", "median ms", "slowest ms"], rows)


def _synthetic(number: int) -> tuple[Source, ParsedText, Chunk]:
    ref = SourceRef("document", f"archive/{number}.md")
    title = f"{KINDS[number % len(KINDS)].title()} of team {number % 89}"
    heading = f"Week {number % 53} number {number}"
    text = f"The {KINDS[number % 5]} says {number % 1009} things about retry {number % 7} and little else."
    subjects = (EVERYONE,) if number % 1000 else ("user:ana",)
    source = Source(ref, title, content_hash(text), subjects)
    parsed = ParsedText(text, title, (Heading(0, 1, heading),))
    chunk = Chunk(chunk_id(ref, text, 0), ref, 0, text, 0, len(text), content_hash(text), title, (heading,))
    return source, parsed, chunk


async def main(synthetic: int) -> int:
    print(f"bench.navigate: {machine()}")
    folder = Path(tempfile.mkdtemp(prefix="bench-navigate-"))
    try:
        async with open_platform(Settings(home=folder)) as platform:
            if synthetic:
                await latency(platform, synthetic)
            else:
                await ingest(platform, documents())
                await quality(platform)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--synthetic", type=int, default=0, metavar="N", help="measure latency over N documents")
    raise SystemExit(asyncio.run(main(parser.parse_args().synthetic)))
