"""Where mode auto sends questions, against the mode that a person chose; and what it finds, against each mode alone.

    python -m bench.routing [--misses]
    python -m bench.routing --set samples|musique-60|2wiki-51|2wiki-6119 [--extraction rules|recorded] [--home DIR]
                            [--modes ...] [--rounds N]

The first needs no store: the entries of the built-in skill graph are scored with the packaged embedder. The second
ingests the set (into a home that is kept with --home, and then ingested only once), asks every question in every mode,
and prints Recall@5, the time that an answer of five passages takes, and which modes answered for auto.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

from bench.ingest import TENANT, ingest
from bench.navigate import SAMPLES, documents, questions, shares
from bench.retrieval import READER, SETS, load
from bench.support import DATA, machine, table

from knotwork.bootstrap import Models, Platform, open_embedder, open_platform
from knotwork.config import Settings
from knotwork.domain.metrics import bootstrap, percentile, recall_at
from knotwork.domain.model import Vector
from knotwork.domain.retrieval import Mode, RetrievalResult, RetrieveOptions
from knotwork.errors import AmbiguousName, LimitReached
from knotwork.ports.models import Embedder, Embeddings
from knotwork.services.auto_graph import mode_graph
from knotwork.services.auto_ways import WAYS
from knotwork.services.evaluation import RecordedExtractor
from knotwork.services.evaluation_ingest import index_set
from knotwork.skills import SkillContext

HELD_OUT = Path(__file__).with_name("routing_questions.jsonl")
LIKENESS = (0.0, 0.5, 1.0, 1.4)  # what a cosine may be worth: the one number that could be fitted to labels
PRESENT = 1.0
ALL = tuple(way.mode for way in WAYS)
TOP_K = 5
ROUNDS = 3  # of timed answers unless asked otherwise; the first of them warms up

Labelled = tuple[str, Mode]  # a question, and the mode that a person chose
Measure = Callable[[RetrievalResult], float]


@dataclass
class Remembering:
    """The embedder, asked once for each text: many graphs score the same questions."""

    embedder: Embedder
    known: dict[str, Vector] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return self.embedder.id

    @property
    def dimension(self) -> int:
        return self.embedder.dimension

    async def embed(self, texts: Sequence[str], *, purpose: Literal["passage", "query"] = "passage") -> Embeddings:
        if new := [text for text in dict.fromkeys(texts) if text not in self.known]:
            self.known |= dict(zip(new, (await self.embedder.embed(new, purpose=purpose)).vectors, strict=True))
        return Embeddings([self.known[text] for text in texts])

    async def close(self) -> None:
        """Whoever opened the embedder closes it."""


def labelled(path: Path, mode: Mode | None = None) -> list[Labelled]:
    """The questions of a file of JSON lines, with their labels, or all with this one."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [(row["question"], mode or Mode(row["mode"])) for row in rows]


async def chosen(embedder: Embedder, modes: Sequence[Mode], asked: Sequence[Labelled], likeness: float) -> list[Mode]:
    """The mode at which each question starts."""
    graph = mode_graph(modes, embedder, likeness=likeness)
    scored = [await graph.score_entries(SkillContext(question)) for question, _ in asked]
    return [Mode(one.chosen) for one in scored if one.chosen]


def right(asked: Sequence[Labelled], found: Sequence[Mode]) -> str:
    """How many were sent where a person would send them."""
    hits = sum(mode is label for mode, (_, label) in zip(found, asked, strict=True))
    return f"{hits} of {len(asked)} ({100 * hits / len(asked):.0f} %)"


async def left_out(embedder: Embedder, modes: Sequence[Mode], asked: Sequence[Labelled]) -> list[Mode]:
    """Each question sent with what a cosine is worth chosen by all the others."""
    runs = {likeness: await chosen(embedder, modes, asked, likeness) for likeness in LIKENESS}
    hits = {one: [mode is label for mode, (_, label) in zip(run, asked, strict=True)] for one, run in runs.items()}
    best = [max(LIKENESS, key=lambda one: sum(hits[one]) - hits[one][place]) for place in range(len(asked))]
    return [runs[likeness][place] for place, likeness in enumerate(best)]


async def agreement(data: Path, *, misses: bool) -> None:
    """Agreement with labels: of the samples, of what was held out, and of sets whose questions are of one kind."""
    samples, held_out = labelled(SAMPLES / "questions.jsonl"), labelled(HELD_OUT)
    others = [
        ("musique-60, all meant for local", labelled(data / "musique-60/questions.jsonl", Mode.LOCAL)),
        ("2wiki-51, all meant for local", labelled(data / "2wiki-51/questions.jsonl", Mode.LOCAL)),
        ("podcast, all meant for global", labelled(data / "podcast-1669/global_questions.jsonl", Mode.GLOBAL)),
    ]
    async with open_embedder(Settings(home=Path(tempfile.gettempdir()))) as packaged:
        embedder = Remembering(packaged)
        rows: list[Sequence[object]] = []
        for modes, kind in (([mode for mode in ALL if mode is not Mode.GLOBAL], "without global"), (ALL, "all modes")):
            for name, every in (("samples", samples), ("held out", held_out), *others):
                asked = [one for one in every if one[1] in modes]
                if not asked:
                    continue
                runs = {likeness: await chosen(embedder, modes, asked, likeness) for likeness in LIKENESS}
                labels = Counter(label for _, label in asked)
                common, count = labels.most_common(1)[0]
                others_decide = len(labels) > 1  # with one label all others would name it
                rows.append(
                    [
                        f"{name}, {kind}",
                        right(asked, runs[PRESENT]),
                        right(asked, await left_out(embedder, modes, asked)) if others_decide else "-",
                        right(asked, runs[0.0]),
                        f"{common.value} {100 * count / len(asked):.0f} %",
                    ]
                )
                if misses:
                    for (question, label), mode in zip(asked, runs[PRESENT], strict=True):
                        if mode is not label:
                            print(f"{name}, {kind}: {label.value} → {mode.value}: {question}")
    columns = ["questions", "auto", "leave one out", "cues alone", "always the commonest"]
    table("questions that start at the mode a person chose", columns, rows)


async def answers(platform: Platform, mode: Mode, asked: Sequence[str], top_k: int) -> list[RetrievalResult]:
    """The answers in one mode, one after another; none where the mode asks back or gives up."""

    async def one(question: str) -> RetrievalResult:
        try:
            return await platform.retrieval.query(READER, question, mode, RetrieveOptions(top_k=top_k))
        except (AmbiguousName, LimitReached):
            return RetrievalResult(())

    return [await one(question) for question in asked]


@dataclass(frozen=True)
class Run:
    """What is asked for: modes (none: all that are wired), and rounds of timed answers."""

    modes: tuple[Mode, ...]
    rounds: int


async def compare(platform: Platform, run: Run, title: str, asked: Sequence[tuple[str, Measure]], top_k: int) -> None:
    """Every mode on the same questions; times in turns, so that what else the machine does meets all modes alike."""
    modes = run.modes or platform.retrieval.modes
    texts = [question for question, _ in asked]
    found = {mode: await answers(platform, mode, texts, top_k) for mode in modes}
    times: dict[Mode, list[float]] = {mode: [] for mode in modes}
    for turn in range(run.rounds):
        for place, question in enumerate(texts):
            first = place % len(modes)  # no mode always finds what the same other has left in caches
            for mode in (*modes[first:], *modes[:first]):
                started = time.perf_counter()
                await answers(platform, mode, [question], TOP_K)
                if turn:
                    times[mode].append((time.perf_counter() - started) * 1000)
    rows: list[Sequence[object]] = []
    for mode in modes:
        recall = bootstrap([100 * measure(one) for one, (_, measure) in zip(found[mode], asked, strict=True)])
        spent = times[mode]
        cells = [f"{recall.mean:.1f} [{recall.low:.0f}, {recall.high:.0f}]", fmean(spent)]
        rows.append([mode.value, *cells, percentile(spent, 0.5), percentile(spent, 0.95)])
    columns = ["mode", "Recall@5", "mean ms", "p50 ms", "p95 ms"]
    table(f"{title}: {len(asked)} questions, %, 95 % interval", columns, rows)
    if Mode.AUTO not in modes:
        return
    told: list[Any] = [(one.explanation or {})["auto"] for one in found[Mode.AUTO]]
    ways = Counter(" → ".join(step["mode"] for step in one["steps"]) for one in told)
    print("auto:", ", ".join(f"{way} {count}" for way, count in ways.most_common()))


def _quietly(*_: object) -> None:
    """Progress is not shown."""


def first_sources(result: RetrievalResult) -> tuple[str, ...]:
    """The documents of the passages, best first, each once."""
    return tuple(dict.fromkeys(passage.source.id for passage in result.passages if passage.source))


async def samples(home: Path, run: Run) -> None:
    """The sample documents; found is a quote that stands in one of five passages."""
    async with open_platform(Settings(home=home)) as platform:
        await ingest(platform, documents())

        def measure_of(place: int) -> Measure:
            return lambda result: shares(every[place], result.passages)[1]

        every = questions()
        await compare(
            platform, run, "samples", [(one.text, measure_of(place)) for place, one in enumerate(every)], TOP_K
        )


async def public_set(name: str, extraction: str, data: Path, home: Path, run: Run) -> None:
    """A set of the data folder; found is a document among the first five, as its README defines it."""
    given = load(name, data)
    models = Models(None, RecordedExtractor(given)) if extraction == "recorded" else None

    def measure_of(wanted: frozenset[str]) -> Measure:
        return lambda result: recall_at(TOP_K, first_sources(result), wanted)

    async with open_platform(Settings(home=home), models=models) as platform:
        await index_set(
            given,
            TENANT,
            catalogue=platform.catalogue,
            intake=platform.intake,
            upkeep=platform.upkeep,
            on_progress=_quietly,
        )
        asked = [(one.text, measure_of(one.supporting)) for one in given.questions]
        await compare(platform, run, f"{name}, {extraction}", asked, 4 * TOP_K)


async def main(name: str | None, extraction: str, data: Path, home: Path | None, run: Run, *, misses: bool) -> int:
    print(f"bench.routing: {machine()}")
    if name is None:
        await agreement(data, misses=misses)
        return 0
    folder = home or Path(tempfile.mkdtemp(prefix="bench-routing-"))
    try:
        await (samples(folder, run) if name == "samples" else public_set(name, extraction, data, folder, run))
    finally:
        if home is None:
            shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", choices=["samples", *sorted(SETS)], help="ask its questions of its documents")
    parser.add_argument("--extraction", choices=["rules", "recorded"], default="rules")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the sets")
    parser.add_argument("--home", type=Path, help="a home to keep: a corpus that it holds is not ingested again")
    parser.add_argument("--misses", action="store_true", help="print the questions that are sent elsewhere")
    parser.add_argument("--modes", default="", help="modes to compare, with commas; all unless given")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of timed answers, the first not counted")
    given = parser.parse_args()
    wanted = Run(tuple(map(Mode, filter(None, given.modes.split(",")))), given.rounds)
    raise SystemExit(
        asyncio.run(main(given.set, given.extraction, given.data, given.home, wanted, misses=given.misses))
    )
