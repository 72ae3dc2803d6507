"""Quality and latency of retrieval modes, side by side, on sets of questions with known supporting passages.

    python -m bench.retrieval --set musique-60|2wiki-51|2wiki-6119 [--extraction rules|recorded] [--modes ...]
                              [--home DIR] [--misses MODE]

The corpus is ingested through `Intake` into a home of its own (kept with --home, and then ingested only once), the
questions are asked one after another. Printed are the figures that the READMEs of the sets define, over passages of
distinct sources, each with a 95 % bootstrap interval, and the time an answer takes with five passages.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.ingest import TENANT
from bench.support import DATA, machine, table

from knotwork.bootstrap import Models, open_platform
from knotwork.cli.evaluation_files import read_text
from knotwork.config import Settings
from knotwork.domain.metrics import bootstrap, percentile
from knotwork.domain.model import EVERYONE
from knotwork.domain.retrieval import Mode, Reader
from knotwork.services.evaluation import Answered, EvaluationSet, RecordedExtractor, answer_times, ask, read_set
from knotwork.services.evaluation_ingest import index_set

OWN = Path(__file__).parent / "questions"  # written for corpora that have none
SETS = {  # corpus, questions, recorded extraction
    "musique-60": ("musique-60/corpus.jsonl.gz", "musique-60/questions.jsonl", "musique-60/openie.jsonl.gz"),
    "2wiki-51": ("2wiki-51/corpus.jsonl", "2wiki-51/questions.jsonl", None),
    "podcast": ("podcast-1669/documents.jsonl.gz", str(OWN / "podcast.jsonl"), None),  # one hop each
    "2wiki-6119": ("2wiki-corpus-6119/corpus.jsonl.gz", "2wiki-51/questions.jsonl", None),
}
READER = Reader(TENANT, (EVERYONE,))


def quiet(*_: object) -> None:
    """Nobody watches a bench's ingest."""


def load(name: str, data: Path) -> EvaluationSet:
    """A set of the data folder."""
    corpus, questions, recorded = SETS[name]
    return read_set(
        read_text(data / corpus), read_text(data / questions), read_text(data / recorded) if recorded else None
    )


def show_misses(given: EvaluationSet, answered: Sequence[Answered]) -> None:
    """Print the questions of which not all passages are among the first eight, with what was found instead."""
    title = {passage.id: passage.title for passage in given.passages}
    for one in answered:
        if one.measures()["all-found@8"] < 1:
            print(f"\n{one.question.id}: {one.question.text}")
            for id_ in sorted(one.question.supporting):
                place = one.ranked.index(id_) + 1 if id_ in one.ranked else "-"
                print(f"   wanted {title[id_]} (place {place})")
            print("   found ", "; ".join(title[id_] for id_ in one.ranked[:8]))


async def main(name: str, extraction: str, modes: Sequence[Mode], data: Path, home: Path | None, misses: str) -> int:
    print(f"bench.retrieval --set {name} --extraction {extraction}: {machine()}")
    given = load(name, data)
    folder = home or Path(tempfile.mkdtemp(prefix="bench-retrieval-"))
    models = Models(None, RecordedExtractor(given)) if extraction == "recorded" else None
    rows: list[Sequence[object]] = []
    try:
        async with open_platform(Settings(home=folder), models=models) as platform:
            await index_set(
                given,
                TENANT,
                catalogue=platform.catalogue,
                intake=platform.intake,
                upkeep=platform.upkeep,
                on_progress=quiet,
            )
            counts = await platform.catalogue.counts(TENANT)
            print(", ".join(f"{label} {number:,}" for label, number in counts.items()))
            for mode in modes:
                answered = await ask(platform.retrieval, READER, mode, given.questions)
                measured = [one.measures() for one in answered]
                cells: list[object] = [mode.value]
                for measure in ("recall@5", "all-found@8", "mrr", "ndcg@10"):
                    found = bootstrap([100 * one[measure] for one in measured])
                    cells.append(f"{found.mean:.1f} [{found.low:.0f}, {found.high:.0f}]")
                times = await answer_times(platform.retrieval, READER, mode, given.questions)
                rows.append([*cells, percentile(times, 0.5), percentile(times, 0.95)])
                if misses == mode.value:
                    show_misses(given, answered)
    finally:
        if home is None:
            shutil.rmtree(folder, ignore_errors=True)
    columns = ["mode", "Recall@5", "all in 8", "MRR", "nDCG@10", "p50 ms", "p95 ms"]
    table(f"{name}, {extraction}: {len(given.questions)} questions, %, 95 % interval", columns, rows)
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", choices=sorted(SETS), default="musique-60")
    parser.add_argument("--extraction", choices=["rules", "recorded"], default="rules")
    parser.add_argument("--modes", default="semantic,keyword,hybrid,local")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the sets")
    parser.add_argument("--home", type=Path, help="a home to keep: a corpus that it holds is not ingested again")
    parser.add_argument("--misses", default="", help="mode whose misses are printed")
    arguments = parser.parse_args()
    if arguments.extraction == "recorded" and SETS[arguments.set][2] is None:
        parser.error(f"{arguments.set} has no recorded extraction")
    chosen = [Mode(one) for one in arguments.modes.split(",")]
    raise SystemExit(
        asyncio.run(main(arguments.set, arguments.extraction, chosen, arguments.data, arguments.home, arguments.misses))
    )
