"""`knotwork ingest`: files, folders, corpora and standard input become sources."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from knotwork.cli.output import Output, in_line, plural
from knotwork.cli.session import Session, command

if TYPE_CHECKING:
    from knotwork.cli.plan import Item, Plan, Problem
    from knotwork.cli.roots import RootRecord
    from knotwork.cli.sending import Report, Said

STANDARD_INPUT = "-"
NAMED = 20  # sources named in a list of the summary; --json has all
INTERRUPTED = 130  # as shells have it for SIGINT


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "ingest")(ingest)


def ingest(
    session: Session,
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH...", help="Files and folders; - reads standard input (with --name).")
    ],
    root: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="What source ids are relative to; else the folder given, or the folder of the file given.",
        ),
    ] = None,
    type_: Annotated[str, typer.Option("--type", metavar="TYPE", help="Type of the sources.")] = "document",
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Source id for standard input; its ending tells the format.")
    ] = None,
    metadata: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="Metadata of every source; KEY:=JSON for numbers, true/false, lists."),
    ] = None,
    subject: Annotated[
        list[str] | None,
        typer.Option(metavar="SUBJECT", help="Who may read the sources, such as group:sre; everyone if not given."),
    ] = None,
    graph: Annotated[
        bool | None, typer.Option("--graph/--no-graph", help="Build a graph of them; else as the tenant has it.")
    ] = None,
    prune: Annotated[
        bool, typer.Option("--prune", help="Delete sources that came from here before and are gone.")
    ] = False,
) -> None:
    """Index files, folders, or standard input.

    Read are text, Markdown, HTML, PDF, DOCX, CSV and JSON Lines.

    A file's source id is its path relative to --root, so the same tree is the same sources wherever it lies. A file
    of JSON Lines (also .gz) whose every row has a string `id` and a string `text` becomes one source a row.

    What is sent replaces what the source was; unchanged text costs no model call. Ctrl-C stops sending: what was
    sent is indexed all the same.
    """
    from knotwork.cli.parsing import parse_metadata
    from knotwork.cli.plan import BytesItem, Plan, make_plan
    from knotwork.cli.sending import Said

    said = Said(type_, parse_metadata(metadata or []), tuple(subject) if subject else None, graph)
    if STANDARD_INPUT in paths:
        if len(paths) > 1 or not name:
            raise typer.BadParameter("- stands alone and needs --name, such as `knotwork ingest - --name notes.md`")
        if prune:
            raise typer.BadParameter("--prune needs a folder; standard input has none")
        plan = Plan((BytesItem(name, sys.stdin.buffer.read()),))
    elif name:
        raise typer.BadParameter("--name is for standard input; files are named by their paths")
    else:
        plan = make_plan([Path(path) for path in paths], root=root)
    run_ingest(session, plan, said, prune=prune)


def run_ingest(session: Session, plan: Plan, said: Said, *, prune: bool = False) -> Report:
    """Send a plan, report, and leave with exit code 1 if anything failed, 130 if it was interrupted."""
    started = time.monotonic()
    report, pruned, interrupted = send_plan(session, plan, said, prune=prune)
    elapsed_s = time.monotonic() - started
    if session.output.as_json:
        session.output.document(summary(report, pruned, interrupted=interrupted, elapsed_s=elapsed_s))
    else:
        show_summary(session.output, report, pruned, elapsed_s=elapsed_s)
    if interrupted:
        raise typer.Exit(INTERRUPTED)
    if report.problems:
        raise typer.Exit(1)
    return report


def send_plan(session: Session, plan: Plan, said: Said, *, prune: bool = False) -> tuple[Report, list[str], bool]:
    """Send a plan and follow it to its end; the report, the ids pruned, and whether Ctrl-C cut it short."""
    from knotwork.cli.client import Client
    from knotwork.cli.sending import Sender

    async def work(client: Client) -> tuple[Report, list[str], bool]:
        with session.output.progress("indexing", unit="sources") as progress:
            sender = Sender(client, said, progress)
            interrupted = await _interruptible(sender.send(plan.items), sender.stop, session.output)
        report = sender.report
        report.problems.extend(plan.problems)
        records = _records(session, plan, said)
        for record in records:
            record.update(added=_files_of(record, plan.items, report.accepted))
        pruned = await _prune(client, records, plan, report) if prune and not interrupted else []
        return report, pruned, interrupted

    return session.call(work)


def summary(report: Report, pruned: Sequence[str], *, interrupted: bool, elapsed_s: float) -> dict[str, Any]:
    """The report as a document for programs."""
    done = len(report.finished)
    return {
        "sources": {
            "sent": len(report.accepted),
            "indexed": done,
            "unchanged": report.unchanged,
            "failed": len(report.problems),
            "pending": report.pending,
            "not_sent": report.left,
            "pruned": list(pruned),
        },
        "chunks": {
            "written": report.total("written"),
            "removed": report.total("removed"),
            "unchanged": report.chunks - report.total("written"),
            "unusable": report.naming("unusable_chunks"),
            "failed": report.naming("failed_chunks"),
        },
        "graph": {
            name: report.total(f"graph.{name}")
            for name in ("entities", "relationships", "pruned", "extraction_calls", "input_tokens", "output_tokens")
        },
        "problems": [asdict(problem) for problem in report.problems],
        "interrupted": interrupted,
        "elapsed_s": round(elapsed_s, 3),
    }


def show_summary(output: Output, report: Report, pruned: Sequence[str], *, elapsed_s: float) -> None:
    """The report for people; problems go to standard error."""
    done = len(report.finished)
    rate = f", {done / elapsed_s:.1f} a second" if elapsed_s > 0 else ""
    output.line(f"{plural(done, 'source')} indexed in {elapsed_s:.1f} s{rate}")
    if done:
        _show_results(output, report)
    if pruned:
        output.line(f"{plural(len(pruned), 'source')} gone and deleted: {_named(pruned)}")
    if report.pending:
        output.note(f"{plural(report.pending, 'source')} sent and still being indexed by the service")
    if report.left:
        output.note(f"{plural(report.left, 'source')} not sent; run the same command again for the rest")
    _show_problems(output, report.problems)


def _show_results(output: Output, report: Report) -> None:
    written, removed = report.total("written"), report.total("removed")
    if report.unchanged == len(report.finished):
        output.line("nothing changed: every chunk is as it was")
    output.line(f"chunks: {written:,} written, {removed:,} removed, {report.chunks - written:,} unchanged")
    output.line(
        f"graph: {report.total('graph.entities'):,} entities and {report.total('graph.relationships'):,} "
        f"relationships named, {report.total('graph.pruned'):,} pruned"
    )
    _show_counts(output, "gave no entity (they are findable)", report.naming("unusable_chunks"))
    _show_counts(output, "could not be read by the extractor; ingest again to retry", report.naming("failed_chunks"))


def _show_counts(output: Output, what: str, counts: Mapping[str, int]) -> None:
    if counts:
        names = _named([f"{id_} ({count})" for id_, count in counts.items()])
        output.line(f"{plural(sum(counts.values()), 'chunk')} {what}: {names}")


def _show_problems(output: Output, problems: Sequence[Problem]) -> None:
    for problem in problems[:NAMED]:
        output.note(in_line(f"failed: {problem.id}: {problem.message}"), style="red")
    if len(problems) > NAMED:
        output.note(f"... and {len(problems) - NAMED:,} more; --json names all")


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


async def _interruptible(work: Coroutine[Any, Any, Any], stop: Callable[[], None], output: Output) -> bool:
    """Do the work; Ctrl-C asks it to stop, a second one ends it. Whether it was asked to."""
    asked = False
    task = asyncio.ensure_future(work)

    def interrupt() -> None:
        nonlocal asked
        if asked:
            task.cancel()
            return
        asked = True
        output.note("stopping: nothing more is sent; what was sent is indexed by the service")
        stop()

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, interrupt)
    try:
        with suppress(asyncio.CancelledError):
            await task
    finally:
        loop.remove_signal_handler(signal.SIGINT)
    return asked


def _records(session: Session, plan: Plan, said: Said) -> list[RootRecord]:
    from knotwork.cli.roots import RootRecord

    roots = sorted({scope.root for scope in plan.scopes})
    return [RootRecord(session.home, session.tenant, said.source_type, root) for root in roots]


def _files_of(record: RootRecord, items: Sequence[Item], accepted: Collection[str]) -> dict[str, str]:
    return {
        item.id: item.place.file
        for item in items
        if item.place is not None and item.place.root == record.root and item.id in accepted
    }


async def _prune(client: Any, records: Sequence[RootRecord], plan: Plan, report: Report) -> list[str]:
    """Delete what came from the plan's roots before and is not there any more; a file that failed is there."""
    from knotwork.cli.client import Refused
    from knotwork.cli.plan import Problem

    present = {item.id for item in plan.items} | {problem.id for problem in plan.problems}
    pruned: list[str] = []
    for record in records:
        scopes = [scope.file for scope in plan.scopes if scope.root == record.root]
        gone: list[str] = []
        for id_ in record.gone(present, scopes):
            try:
                await client.delete_source(record.source_type, id_)
            except Refused as refusal:
                if refusal.code != "not_found":  # somebody deleted it already
                    report.problems.append(Problem(id_, refusal.code, str(refusal)))
                    continue
            gone.append(id_)
        record.update(added={}, removed=gone)
        pruned += gone
    return pruned
