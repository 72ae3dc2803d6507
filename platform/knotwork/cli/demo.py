"""`knotwork demo`: the platform at work on the sample documents, in one command."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

import knotwork
from knotwork.cli.session import DEFAULT_HOME, Session, command

if TYPE_CHECKING:
    from knotwork.cli.client import Client

Json = dict[str, Any]

PACKAGE = Path(knotwork.__file__).parent
QUESTIONS = ("m10", "h02", "s07")  # of samples/questions.jsonl; the first joins facts of two documents
TOP_K = {"local": 5}
OTHER_TOP_K = 2
INTERRUPTED = 130  # as shells have it for SIGINT


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "demo")(demo)


def demo(
    session: Session,
    no_serve: Annotated[bool, typer.Option("--no-serve", help="End after the answers instead of staying up.")] = False,
) -> None:
    """Show the platform on sample documents.

    It starts the service, indexes the samples, asks three questions, and stays up until Ctrl-C. Everything
    is kept in .knotwork/demo of the current folder unless --home or KNOTWORK_HOME says otherwise, so a second run is
    quick. What the demo started it also stops.
    """
    from knotwork.cli.lifecycle import stop_service
    from knotwork.cli.service_record import read_service

    if not session.home_given:
        session = replace(session, home=(DEFAULT_HOME / "demo").resolve())
    found_running = read_service(session.home) is not None
    for number in (signal.SIGTERM, signal.SIGHUP):  # a closed terminal ends the demo as Ctrl-C does
        signal.signal(number, _interrupt)
    is_up = False
    try:
        _show(session)
        is_up = True
        if not no_serve:
            session.output.note("\nPress Ctrl-C to stop.")
            threading.Event().wait()
    except KeyboardInterrupt:
        if not is_up:
            raise
    finally:
        if found_running:
            session.output.note("the service was running before and stays up; `knotwork down` stops it")
        else:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)  # stopping in order takes a few seconds; let nothing cut it short
            session.output.note("stopping the service and Neo4j ...")
            stop_service(session.home)
            session.output.note("stopped; nothing is left running")


def samples_folder() -> Path:
    """Where the samples are: in the wheel beside the code, in a working tree at its root."""
    packaged = PACKAGE / "samples"
    return packaged if packaged.is_dir() else PACKAGE.parents[1] / "samples"


def demo_questions() -> list[Json]:
    """The questions that the demo asks, in order."""
    lines = (samples_folder() / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    by_id = {question["id"]: question for question in map(json.loads, lines)}
    return [by_id[id_] for id_ in QUESTIONS]


def _show(session: Session) -> None:
    """Start, index, ask, and print where everything is."""
    from knotwork.cli.lifecycle import ensure_service
    from knotwork.cli.service import addresses, show_addresses

    output = session.output
    service = ensure_service(session.home, output, announce=False)
    indexed = _index_samples(session)
    answers = _ask(session, demo_questions())
    if output.as_json:
        output.document({"ingest": indexed, "answers": answers, "service": addresses(session, service)})
        return
    output.line("Where to look", style="bold")
    show_addresses(session, service, with_password=True)


def _index_samples(session: Session) -> Json:
    from knotwork.cli.ingest import send_plan, show_summary, summary
    from knotwork.cli.plan import make_plan
    from knotwork.cli.sending import Said

    folder = samples_folder() / "documents"
    session.output.note(f"indexing the sample documents in {folder}")
    started = time.monotonic()
    report, _, interrupted = send_plan(session, make_plan([folder], root=folder), Said("document"))
    elapsed_s = time.monotonic() - started
    if interrupted:
        raise KeyboardInterrupt
    if not session.output.as_json:
        show_summary(session.output, report, [], elapsed_s=elapsed_s)
        session.output.line()
    if report.problems:
        raise typer.Exit(1)
    return summary(report, [], interrupted=False, elapsed_s=elapsed_s)


def _ask(session: Session, questions: Sequence[Json]) -> list[Json]:
    from knotwork.cli.passages import show_facts, show_passages
    from knotwork.cli.queries import query
    from knotwork.domain.retrieval import Mode

    async def work(client: Client) -> list[Json]:
        return [
            await query(
                client,
                question["question"],
                mode=Mode(question["mode"]),
                top_k=TOP_K.get(question["mode"], OTHER_TOP_K),
            )
            for question in questions
        ]

    found = session.call(work)
    answers: list[Json] = []
    for question, answer in zip(questions, found, strict=True):
        answers.append({"question": question["question"], **answer})
        if session.output.as_json:
            continue
        session.output.line(f"? {question['question']}  ({answer['mode']}, {answer['elapsed_ms']} ms)", style="bold")
        session.output.line()
        show_passages(session.output, answer["passages"], reasons=False)
        show_facts(session.output, question["question"], answer["passages"])
    return answers


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
