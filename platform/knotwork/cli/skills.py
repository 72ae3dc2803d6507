"""`knotwork skills`: check, draw and try a skill graph without a service; and keep graphs in the service."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from knotwork.cli.output import Output, in_line
from knotwork.cli.session import Session, command
from knotwork.errors import InvalidInput, PlatformError

if TYPE_CHECKING:
    from knotwork.cli.skill_run import Event
    from knotwork.skills import EntryScoring, Step
    from knotwork.skills.evaluation import Inspection

Json = dict[str, Any]

File = Annotated[Path, typer.Argument(metavar="FILE", help="A graph in YAML or JSON; - is standard input.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="Of the graph, in any script.")]
OutOption = Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write it there, not to the terminal.")]
VersionOption = Annotated[
    str | None, typer.Option("--version", metavar="HASH", help="A version; the present one if not given.")
]


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(help="Skill graphs: check, draw and try one from its file; keep them in the service.")
    for name, function in (
        ("check", check),
        ("draw", draw),
        ("run", run),
        ("schema", schema),
        ("put", put),
        ("list", list_graphs),
        ("get", get),
        ("delete", delete),
    ):
        command(group, name)(function)
    app.add_typer(group, name="skills")


# From a file, without a service -----------------------------------------------------------------------------------


def check(session: Session, file: File) -> None:
    """Say what is wrong with a graph, or looks wrong; ends with 1 on an error. No service is needed."""
    from knotwork.skills.errors import InvalidDeclaration, InvalidSkillGraph

    text, output = _text(file), session.output
    try:
        found = _inspected(text)
    except InvalidDeclaration as error:
        place = {"line": error.line, "column": error.column}
        problem = {"code": error.code, "level": "error", "ids": [], "message": error.reason} | place
        _report(output, file, [problem], where=f"{file}:{error.line}:{error.column}")
    except InvalidSkillGraph as error:
        _report(output, file, [{"code": error.code, "level": "error", "ids": [], "message": str(error)}])
    else:
        _report(output, file, found.data["problems"], ok=found.ok)
        if not output.as_json and found.calls_model:
            output.note("choosing the start calls the embedder (by_relevance)")
        if found.ok:
            return
    raise typer.Exit(1)


def draw(session: Session, file: File, out: OutOption = None) -> None:
    """Draw a graph as a Mermaid flowchart. No service is needed."""
    mermaid = _inspected(_text(file)).mermaid
    if out is not None:
        out.write_text(mermaid, encoding="utf-8")
    if session.output.as_json:
        session.output.document({"file": str(file), "out": None if out is None else str(out), "mermaid": mermaid})
    elif out is None:
        session.output.line(mermaid.rstrip("\n"))
    else:
        session.output.note(f"drawn in {out}")


def run(
    session: Session,
    file: File,
    script: Annotated[
        Path | None,
        typer.Option(
            "--script",
            metavar="FILE",
            help='JSON lines instead of typing: {"message": ...}, {"tool": ..., "result": ...} or {"jump": ...}.',
        ),
    ] = None,
) -> None:
    """Walk through a conversation and see where it stands at each step, and why. No service is needed."""
    from knotwork.cli.skill_run import read_script

    if script is None and str(file) == "-":
        raise typer.BadParameter("standard input cannot be both the graph and the conversation; give --script")
    text = _text(file)
    events = _typed(session.output) if script is None else read_script(_text(script).split("\n"))
    asyncio.run(_converse(session.output, text, events, keep_going=script is None))


def schema(session: Session) -> None:
    """Print the JSON Schema of a graph's file. No service is needed."""
    from knotwork.skills.declared import json_schema

    session.output.document(json_schema())


# In the service ---------------------------------------------------------------------------------------------------


def put(session: Session, name: Name, file: File) -> None:
    """Keep a graph under a name; the versions before it stay, and equal content changes nothing."""
    text = _text(file)
    found = session.call(lambda client: client.put(_address(name), {"declaration": text}))
    if session.output.as_json:
        session.output.document(found)
        return
    done = "is now" if found["changed"] else "was already"
    session.output.line(f"{in_line(name)} {done} version {found['number']}, {found['version']}")
    _show_problems(session.output, found["problems"])


def list_graphs(session: Session) -> None:
    """List the graphs with their present versions."""

    async def work(client: Any) -> list[Json]:
        return [item async for item in client.pages("/skill-graphs")]

    found = session.call(work)
    if session.output.as_json:
        session.output.document({"items": found})
        return
    session.output.table(
        ["graph", "number", "version"], [[one["name"], one["number"], one["version"]] for one in found]
    )


def get(session: Session, name: Name, version: VersionOption = None, out: OutOption = None) -> None:
    """Show a graph as it was put; with --json also its versions."""
    found = session.call(lambda client: client.get(_address(name), version=version))
    if out is not None:
        out.write_text(found["declaration"], encoding="utf-8")
    if session.output.as_json:
        session.output.document(found)
    elif out is None:
        session.output.line(found["declaration"].rstrip("\n"))
    else:
        session.output.note(f"version {found['number']} written to {out}")


def delete(session: Session, name: Name) -> None:
    """Remove a graph with all its versions."""
    session.call(lambda client: client.delete(_address(name)))
    if session.output.as_json:
        session.output.document({"deleted": name})
    else:
        session.output.line(f"deleted {in_line(name)}")


def _address(name: str) -> str:
    from urllib.parse import quote

    from knotwork.cli.client import DOTS

    return f"/skill-graphs/{DOTS.get(name) or quote(name, safe='')}"


def _text(file: Path) -> str:
    data = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{file} is not UTF-8 (byte {error.start}); save it as UTF-8") from None


def _inspected(text: str) -> Inspection:
    from knotwork.skills.evaluation import inspect

    return inspect(text)


def _report(output: Output, file: Path, problems: list[Json], *, ok: bool = False, where: str | None = None) -> None:
    if output.as_json:
        output.document({"file": str(file), "ok": ok, "problems": problems})
        return
    _show_problems(output, problems, where or str(file))
    if not problems:
        output.line(f"{file}: no problems")


def _show_problems(output: Output, problems: Iterable[Json], where: str = "") -> None:
    before = f"{where}: " if where else ""
    for one in problems:
        ids = f" [{', '.join(one['ids'])}]" if one["ids"] else ""
        style = "red" if one["level"] == "error" else "yellow"
        output.line(in_line(f"{before}{one['level']}: {one['code']}{ids}: {one['message']}"), style=style)


def _typed(output: Output) -> Iterator[Event]:
    from knotwork.cli.skill_run import HELP, read_typed

    output.note(f"type {HELP}")
    while True:
        if sys.stdin.isatty():
            output.note(">")
        line = sys.stdin.readline()
        if not line:
            return
        if not line.strip():
            continue
        try:
            yield read_typed(line.rstrip("\n"))
        except InvalidInput as error:
            output.note(str(error), style="red")


async def _converse(output: Output, text: str, events: Iterable[Event], *, keep_going: bool) -> None:
    """Play the events; of one that fails, a person is told and goes on, a script ends."""
    from knotwork.cli.skill_run import Conversation
    from knotwork.skills.declared import load_graph

    steps: list[Json] = []
    async with AsyncExitStack() as stack:
        embedder = None
        if _inspected(text).calls_model:
            from knotwork.bootstrap import open_embedder
            from knotwork.config import read_settings

            embedder = await stack.enter_async_context(open_embedder(read_settings()))
        conversation = Conversation(load_graph(text, embedder=embedder))
        for event in events:
            try:
                step, scoring = await conversation.step(event)
            except PlatformError as error:
                if not keep_going:
                    raise
                output.note(str(error), style="red")
                continue
            if output.as_json:
                steps.append(_step_document(step, scoring))
            else:
                _show_step(output, event, step, scoring)
    if output.as_json:
        output.document({"steps": steps})


def _step_document(step: Step, scoring: EntryScoring | None) -> Json:
    from dataclasses import asdict

    return {
        "cursor": step.move.to_id,
        "by": step.move.by.value,
        "reason": step.move.reason,
        "active_skills": list(step.active),
        "active_tools": list(step.tools),
        "reachable_skills": list(step.reachable),
        "scoring": None if scoring is None else asdict(scoring),
    }


def _show_step(output: Output, event: Event, step: Step, scoring: EntryScoring | None) -> None:
    output.line(in_line(_in_words(event)), style="bold")
    facts = {
        "cursor": step.move.to_id or "(none)",
        "because": step.move.reason,
        "active": ", ".join(step.active) or "(none)",
        "tools": ", ".join(step.tools) or "(none)",
        "may go to": ", ".join(step.reachable) or "(nowhere)",
    }
    if scoring is not None:
        scores = ", ".join(f"{one.skill_id} {one.score:.3f} ({one.share:.0%})" for one in scoring.scores)
        facts["scores"] = f"{scores}; by {scoring.scored_by}"
        if scoring.fallback is not None:
            facts["fell back"] = scoring.fallback.reason
    output.facts(facts)


def _in_words(event: Event) -> str:
    from knotwork.cli.skill_run import Jump, Returned, Said

    match event:
        case Said(message):
            return f"message: {message}"
        case Returned(result):
            return f"tool {result.tool_name} returned"
        case Jump(skill_id):
            return f"the model asks for {skill_id}"
