"""`knotwork eval`: how well each mode finds what answers your own questions."""

from __future__ import annotations

import asyncio
import shutil
import signal
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from enum import StrEnum
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from knotwork.cli.output import Output, json_text, plural
from knotwork.cli.session import Session, command
from knotwork.domain.retrieval import Mode
from knotwork.errors import InvalidInput

if TYPE_CHECKING:
    from knotwork.domain.evaluation_report import Change, EvaluationReport, ModeFigures
    from knotwork.domain.metrics import Interval
    from knotwork.domain.retrieval import Reader
    from knotwork.services.evaluation import EvaluationSet
    from knotwork.services.retrieve import Retrieval

Json = dict[str, Any]

DEFAULT_MODES = "semantic,keyword,hybrid,local"
DEFAULT_PLACES = "5,8"
MAX_PLACES = 20  # services/evaluation.py looks no further
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Extraction(StrEnum):
    CONFIGURED = "configured"
    RECORDED = "recorded"


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "eval")(evaluate)


def evaluate(
    session: Session,
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="With corpus.jsonl, questions.jsonl and perhaps openie.jsonl.")
    ],
    modes: Annotated[str, typer.Option(metavar="MODE,...", help="The modes, side by side.")] = DEFAULT_MODES,
    extraction: Annotated[
        Extraction, typer.Option(help="Whose graph: that of the configured extractor, or that of openie.jsonl.")
    ] = Extraction.CONFIGURED,
    corpus: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Another corpus in place of the folder's, for its questions.")
    ] = None,
    places: Annotated[
        str, typer.Option("--k", metavar="K,...", help="First places among which recall is measured, each 1 to 20.")
    ] = DEFAULT_PLACES,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Only so many questions, the first; the corpus whole.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the figures there as JSON.")] = None,
    against: Annotated[Path | None, typer.Option(metavar="FILE", help="Compare with what --out wrote earlier.")] = None,
    keep: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Keep what is indexed in this home, and use it again the next time."),
    ] = None,
) -> None:
    """Measure how well each mode finds the passages that answer your questions.

    The corpus is indexed into a home of its own, which is removed at the end; services and homes that exist are left
    alone. Shown are means over the questions with 95 % intervals, and the time of an answer. With --against a loss
    beyond chance is named, and the exit code is 1.
    """
    from knotwork.cli.evaluation_files import load_set, read_text
    from knotwork.domain.evaluation_report import common_questions, compare, read_report

    chosen, first = _modes(modes), _places(places)
    given = load_set(folder, corpus=corpus, recorded=extraction is Extraction.RECORDED).limited(limit)
    earlier = None
    if against:
        try:
            earlier = read_report(read_text(against))
        except InvalidInput as error:
            raise InvalidInput(f"{against}: {error}") from None
        if not common_questions(earlier, {one.id: one.text for one in given.questions}) or not set(chosen) & set(
            earlier.modes
        ):
            raise InvalidInput(f"{against} has none of these questions, or none of these modes; compare like with like")
    if out:
        _require_writable(out)
    report = _run(session.output, given, chosen, first, extraction, keep)
    changes = compare(earlier, report) if earlier else []
    document = report.document() | ({"changes": [change.document() for change in changes]} if earlier else {})
    if out:
        out.write_text(json_text(document, indent=2) + "\n", encoding="utf-8")
    if session.output.as_json:
        session.output.document(document)
    else:
        _show(session.output, report)
        if earlier:
            _show_changes(session.output, earlier, report, changes)
    if any(change.is_regression for change in changes):
        raise typer.Exit(1)


def _modes(text: str) -> list[Mode]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if unknown := [name for name in names if name not in set(Mode)]:
        raise typer.BadParameter(f"{unknown[0]!r} is no mode; there are {', '.join(Mode)}")
    if not names:
        raise typer.BadParameter(f"name a mode; there are {', '.join(Mode)}")
    return [Mode(name) for name in dict.fromkeys(names)]


def _places(text: str) -> list[int]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names or not all(name.isdecimal() and 1 <= int(name) <= MAX_PLACES for name in names):
        raise typer.BadParameter(f"--k {text!r}: give numbers from 1 to {MAX_PLACES}, such as {DEFAULT_PLACES}")
    return sorted({int(name) for name in names})


def _require_writable(path: Path) -> None:
    """See now, and not after an hour, that the figures can be written."""
    try:
        path.open("a").close()
    except OSError as error:
        raise InvalidInput(f"{path}: {error.strerror}; name another file") from None


def _run(
    output: Output,
    given: EvaluationSet,
    modes: Sequence[Mode],
    places: Sequence[int],
    extraction: Extraction,
    keep: Path | None,
) -> EvaluationReport:
    """Index and ask in a home of this process; whatever ends it, what it started is stopped and removed first."""
    from knotwork.api.home_files import private_files, service_lock
    from knotwork.api.logs import log_to

    home = keep.expanduser().resolve() if keep else Path(tempfile.mkdtemp(prefix="knotwork-eval-"))
    try:
        with private_files(), service_lock(home), log_to(home / "logs" / "eval.log"):
            return asyncio.run(_evaluate(output, given, modes, places, extraction, home))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    finally:
        if not keep:
            for number in STOPS:
                signal.signal(number, signal.SIG_IGN)  # the rest is printing; let nothing leave half a home behind
            shutil.rmtree(home, ignore_errors=True)


async def _evaluate(
    output: Output,
    given: EvaluationSet,
    modes: Sequence[Mode],
    places: Sequence[int],
    extraction: Extraction,
    home: Path,
) -> EvaluationReport:
    from knotwork.bootstrap import Models, open_platform
    from knotwork.config import read_settings
    from knotwork.domain.evaluation_report import EvaluationReport
    from knotwork.domain.model import TenantId
    from knotwork.domain.retrieval import Reader
    from knotwork.services.evaluation import RecordedExtractor
    from knotwork.services.evaluation_ingest import index_set

    # Stores of one's own hold what is not to be measured, and would keep what is.
    settings = read_settings(home=home, neo4j_uri=None, qdrant_url=None, inbox=False, first_key=None)
    models = Models(None, RecordedExtractor(given)) if extraction is Extraction.RECORDED else None
    tenant = TenantId(f"eval-{extraction}-{given.corpus_hash[:12]}")  # a home may keep several
    with _stopped_by_signals(output):
        async with AsyncExitStack() as stack:
            with output.progress("starting", is_bytes=True) as show:
                platform = await stack.enter_async_context(open_platform(settings, show, models=models))
            for mode in modes:
                platform.retrieval.require(mode)
            with output.progress("indexing", unit="passages") as show:
                await index_set(
                    given,
                    tenant,
                    catalogue=platform.catalogue,
                    intake=platform.intake,
                    upkeep=platform.upkeep,
                    on_progress=show,
                )
            figures = {
                mode.value: await _ask(output, platform.retrieval, Reader(tenant), mode, given, places)
                for mode in modes
            }
            about = {
                "passages": len(given.passages),
                "questions": len(given.questions),
                "corpus_hash": given.corpus_hash,
                "extractor": platform.extractor,
                "embedder": platform.embedder.id,
                "failed_chunks": platform.intake.counts.failed_chunks,
            }
    return EvaluationReport(figures, {one.id: one.text for one in given.questions}, about)


async def _ask(
    output: Output, retrieval: Retrieval, reader: Reader, mode: Mode, given: EvaluationSet, places: Sequence[int]
) -> ModeFigures:
    from knotwork.domain.evaluation_report import ModeFigures, QuestionFigures, latencies
    from knotwork.services.evaluation import answer_times, ask

    with output.progress(f"asking in mode {mode}", unit="questions") as show:
        answers = count(1)

        def on_answer() -> None:
            show(next(answers), 2 * len(given.questions))

        answered = await ask(retrieval, reader, mode, given.questions, on_answer)
        times = await answer_times(retrieval, reader, mode, given.questions, on_answer)
    return ModeFigures(
        {one.question.id: QuestionFigures(one.measures(places), one.ranked) for one in answered}, latencies(times)
    )


@contextmanager
def _stopped_by_signals(output: Output) -> Generator[None]:
    """Let the first Ctrl-C, or other wish to end, cancel this task; stopping in order then takes a few seconds."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    told = False

    def tell() -> None:
        nonlocal told
        if task and not told:
            told = True
            output.note("stopping ...")
            task.cancel()

    for number in STOPS:
        loop.add_signal_handler(number, tell)
    try:
        yield
    finally:
        for number in STOPS:
            loop.remove_signal_handler(number)


def _show(output: Output, report: EvaluationReport) -> None:
    about = report.about
    output.note(
        f"{plural(int(str(about['questions'])), 'question')} on {plural(int(str(about['passages'])), 'passage')}, "
        f"extractor {about['extractor']}, embedder {about['embedder']}; %, with 95 % intervals; times in ms"
    )
    if about["failed_chunks"]:
        output.note(f"{about['failed_chunks']} chunks could not be read by the extractor", style="yellow")
    intervals = {mode: figures.intervals() for mode, figures in report.modes.items()}
    measures = next(iter(report.modes.values())).measures
    rows: list[list[str]] = []
    for measure in measures:
        found = [by[measure] for by in intervals.values()]
        rows.append([measure, *(f"{100 * one.mean:.1f} [{100 * one.low:.0f}, {100 * one.high:.0f}]" for one in found)])
    rows += [
        [name, *(f"{figures.latencies_ms[name]:.1f}" for figures in report.modes.values())] for name in ("p50", "p95")
    ]
    output.table(["", *report.modes], rows, headed=True)


def _show_changes(
    output: Output, earlier: EvaluationReport, report: EvaluationReport, changes: Sequence[Change]
) -> None:
    from knotwork.domain.evaluation_report import common_questions

    common = len(common_questions(earlier, report.questions))
    output.line()
    output.line(f"against the earlier evaluation, on the {plural(common, 'question')} that both asked", style="bold")
    for name in _differing(earlier.about, report.about):
        output.note(f"{name} was {earlier.about.get(name)!r} and is {report.about.get(name)!r}", style="yellow")
    output.table(
        ["mode", "measure", "before", "after", "difference", ""],
        [
            [
                change.mode,
                change.measure,
                f"{100 * change.before:.1f}",
                f"{100 * change.after:.1f}",
                _percent(change.difference, "+"),
                "regression" if change.is_regression else "",
            ]
            for change in changes
        ],
        headed=True,
    )
    worse = [f"{change.mode} {change.measure}" for change in changes if change.is_regression]
    output.line(f"worse beyond chance: {', '.join(worse)}" if worse else "no regression", style="bold")


def _percent(found: Interval, sign: str = "") -> str:
    return f"{100 * found.mean:{sign}.1f} [{100 * found.low:{sign}.0f}, {100 * found.high:{sign}.0f}]"


def _differing(before: Mapping[str, object], after: Mapping[str, object]) -> list[str]:
    return [name for name in after if before.get(name) != after[name]]
