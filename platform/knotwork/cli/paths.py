"""`knotwork paths`: how names are tied to each other, and what depends on one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from knotwork.cli.output import Output, plural
from knotwork.cli.passages import show_passages
from knotwork.cli.session import Session, command

Json = dict[str, Any]

MAX_NAMES, MAX_STEPS, MAX_COUNT = 5, 10, 1000


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "paths")(paths)


def paths(
    session: Session,
    names: Annotated[
        list[str], typer.Argument(metavar="NAME...", help="Names or ids of entities, such as 'concept:retry budget'.")
    ],
    steps: Annotated[
        int, typer.Option("--steps", "-s", min=1, max=MAX_STEPS, help="Relationships of a path, at most.")
    ] = 4,
    count: Annotated[
        int | None, typer.Option("--count", "-k", min=1, max=MAX_COUNT, help="Paths, or entities reached, at most.")
    ] = None,
    types: Annotated[
        list[str] | None,
        typer.Option("--type", metavar="TYPE", help="Of one name: only relationships of this type; may be repeated."),
    ] = None,
    out: Annotated[bool, typer.Option("--out", help="Only along the direction of relationships.")] = False,
    inverse: Annotated[
        bool, typer.Option("--in", help="Of one name: only against it, such as what depends on it.")
    ] = False,
) -> None:
    """Show how names are tied to each other, step by step, with the passages that say so.

    Between two names or more: the best paths of each pair. Of one name: all that it is tied to, directly or not;
    `knotwork paths 'retry budget' --type depends-on --in` asks what depends on it.
    """
    if len(names) > MAX_NAMES:
        raise typer.BadParameter(f"{len(names)} names were given; {MAX_NAMES} at most")
    if out and inverse:
        raise typer.BadParameter("--out and --in exclude each other; without either both directions count")
    direction = "out" if out else "in" if inverse else "either"
    if len(names) == 1:
        body = {"entity": names[0], "types": types or None, "direction": direction, "depth": steps} | _given(
            limit=count
        )
        answer = session.call(lambda client: client.post("/graph/reach", body))
        show = _show_reach
    else:
        if types or inverse:
            raise typer.BadParameter("--type and --in are for one name")
        between = {"entities": names, "hops": steps, "direction": direction}
        answer = session.call(lambda client: client.post("/graph/paths", between | _given(count=count)))
        show = _show_paths
    if session.output.as_json:
        session.output.document(answer)
        return
    show(session.output, answer)
    session.output.line()
    show_passages(session.output, answer["passages"], reasons=False)
    if not answer["complete"]:
        hubs = f", by not walking through {', '.join(answer['hubs'][:5])}" if answer["hubs"] else ""
        session.output.note(f"there may be more{hubs}", style="yellow")


def _given(**values: int | None) -> dict[str, int]:
    return {name: value for name, value in values.items() if value is not None}


def _show_paths(output: Output, answer: Json) -> None:
    for number, path in enumerate(answer["paths"], start=1):
        output.line(f"path {number}  (score {path['score']:.3f})", style="bold")
        output.line(_line_of(path["entities"], path["hops"]), indent=4)
    if not answer["paths"]:
        output.line("no path: within these steps nothing that you may see ties them")


def _line_of(entities: Sequence[Json], hops: Sequence[Json]) -> str:
    """A —owns→ B ←limits— C [1] [2]."""
    parts = [entities[0]["name"]]
    for at, hop in enumerate(hops):
        is_forward = hop["from_id"] == entities[at]["id"]
        arrow = f"—{hop['type']}→" if is_forward else f"←{hop['type']}—"
        parts.append(f"{arrow} {entities[at + 1]['name']}{_numbers(hop)}")
    return " ".join(parts)


def _show_reach(output: Output, answer: Json) -> None:
    counts = ", ".join(f"{count} in {plural(int(depth), 'step')}" for depth, count in answer["counts"].items())
    title = f"{answer['entity']['name']}: {plural(answer['total'], 'entity', 'entities')}"
    output.line(f"{title} ({counts})" if counts else title, style="bold")
    output.table(
        ["steps", "entity", "by"],
        [
            [
                one["depth"],
                one["entity"]["name"],
                f"{one['hop']['from_name']} —{one['hop']['type']}→ {one['hop']['to_name']}{_numbers(one['hop'])}",
            ]
            for one in answer["reached"]
        ],
    )


def _numbers(hop: Json) -> str:
    return "".join(f" [{number}]" for number in hop["citations"])
