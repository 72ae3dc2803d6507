"""`knotwork traversals` and `knotwork run`: questions kept as files."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from knotwork.cli.session import Session, command

Json = dict[str, Any]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    command(app, "traversals")(traversals)
    command(app, "run")(run)


def traversals(session: Session) -> None:
    """List the traversals: shipped ones, and files of your own folder.

    Each with its question and parameters; those that are refused, with the reason.
    """
    found = session.call(lambda client: client.get("/traversals"))
    if session.output.as_json:
        session.output.document(found)
        return
    running = [one for one in found["items"] if not one["refused"]]
    session.output.table(
        ["name", "question", "parameters"],
        [[one["name"], one["question"], ", ".join(map(_parameter, one["parameters"]))] for one in running],
    )
    for one in found["items"]:
        if one["refused"]:
            session.output.note(f"refused: {one['name']}: {one['refused']}", style="yellow")


def run(
    session: Session,
    name: Annotated[str, typer.Argument(help="Name of the traversal; `knotwork traversals` lists them.")],
    parameters: Annotated[
        list[str] | None,
        typer.Option(
            "--param", "-p", metavar="NAME=VALUE", help="A parameter. Of a list, one item; NAME:=JSON gives all."
        ),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Rows, at most.")] = 100,
) -> None:
    """Run a traversal and show its rows.

    For example: knotwork run dependants --param entity='retry budget' --param depth=2
    """
    from knotwork.cli.client import quoted

    body = {"parameters": parse_parameters(parameters or []), "limit": limit}
    found = session.call(lambda client: client.post(f"/traversals/{quoted(name)}", body))
    if session.output.as_json:
        session.output.document(found)
        return
    session.output.table(
        [column["name"] for column in found["columns"]], [[_cell(value) for value in row] for row in found["rows"]]
    )
    if not found["rows"]:
        session.output.note("no rows")
    if found["truncated"]:
        session.output.note(f"there are more than {limit} rows; --limit shows more", style="yellow")


def parse_parameters(pairs: list[str]) -> Json:
    """`name=text` and `name:=JSON` as one object; a name given again makes a list.

    Raises:
        typer.BadParameter: a pair is of neither form.
    """
    from knotwork.cli.parsing import parse_metadata

    found: Json = {}
    for pair in pairs:
        for name, value in parse_metadata([pair]).items():
            if name in found:
                held = found[name] if isinstance(found[name], list) else [found[name]]
                found[name] = [*held, *(value if isinstance(value, list) else [value])]
            else:
                found[name] = value
    return found


def _parameter(declared: Json) -> str:
    if declared["required"]:
        return str(declared["name"])
    return f"[{declared['name']}={json.dumps(declared['default'], ensure_ascii=False)}]"


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    return "" if value is None else json.dumps(value, ensure_ascii=False)
