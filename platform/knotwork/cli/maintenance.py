"""`knotwork verify`, `repair` and `compact`: whether the stores agree, mending them, purging what was deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from knotwork.cli.output import Progress, plural
from knotwork.cli.session import Session, command

if TYPE_CHECKING:
    from knotwork.cli.client import Client

Json = dict[str, Any]

SHOWN = 50  # damages and places that a person is shown; --json has up to 1,000
MB = 1_000_000


def register(app: typer.Typer) -> None:
    """Add the commands."""
    command(app, "verify")(verify)
    command(app, "repair")(repair)
    command(app, "compact")(compact)


def verify(
    session: Session,
    gone: Annotated[
        str | None,
        typer.Option("--gone", metavar="TEXT", help="Look for a text that should be nowhere, and for nothing else."),
    ] = None,
) -> None:
    """Compare both stores with each other and with the stored texts; exit code 1 when something does not agree.

    With --gone every property of both stores is searched for TEXT as it is, compressed ones included; case and kind of
    white space do not count, and the exit code is 1 when it is found. Files are another matter: see `compact`.
    """
    if gone is not None:
        _look_for(session, gone)
        return
    result = _done(session, "/verify", {}, "verifying")
    if session.output.as_json:
        session.output.document(result)
    elif result["clean"]:
        session.output.line("clean: both stores agree")
    else:
        _show_damages(session, result)
        session.output.note("`knotwork repair` mends it")
    if not result["clean"]:
        raise typer.Exit(1)


def repair(session: Session) -> None:
    """Mend what `verify` finds, from the stored texts; exit code 1 when something is left."""
    result = _done(session, "/repair", {}, "repairing")
    left = result["left"]
    if session.output.as_json:
        session.output.document(result)
    else:
        session.output.line(
            f"{plural(result['found'], 'problem')} found, {plural(result['sources'], 'source')} read again; "
            + ("clean: both stores agree" if left["clean"] else "some are left:")
        )
        _show_damages(session, left)
    if not left["clean"]:
        raise typer.Exit(1)


def compact(session: Session) -> None:
    """Purge what was deleted from the files and logs of the embedded stores, of all tenants.

    Takes room for a second copy of the larger store, and a minute or more. Requests wait meanwhile. Interrupted, it
    goes on in the service.
    """
    result = _done(session, "/compact", {}, "compacting")
    if session.output.as_json:
        session.output.document(result)
        return
    for store in result["stores"]:
        before, after = store["before_bytes"] / MB, store["after_bytes"] / MB
        session.output.line(f"{store['store']}: {before:,.1f} MB → {after:,.1f} MB")
    if not result["stores"]:
        session.output.note("nothing to do: Neo4j and Qdrant are your own, and have means of their own")


def progress_of(show: Progress) -> Any:
    """A listener that shows an operation's progress."""

    def listen(state: Json) -> None:
        show(state["done"], state["total"], state["step"])

    return listen


def _done(session: Session, path: str, body: Json, label: str) -> Json:
    async def work(client: Client) -> Json:
        with session.output.progress(label) as show:
            begun = await client.post(path, body)
            return await client.operation(begun["operation"], progress_of(show))

    return session.call(work)


def _look_for(session: Session, text: str) -> None:
    from knotwork.domain.search_text import Needle
    from knotwork.errors import InvalidInput

    try:
        Needle(text)
    except InvalidInput as error:
        raise typer.BadParameter(str(error), param_hint="--gone") from error
    result = _done(session, "/verify/gone", {"text": text}, "searching")
    if session.output.as_json:
        session.output.document(result)
    elif not result["found"]:
        session.output.line("gone: no property of either store holds it")
    else:
        places = result["places"]
        session.output.table(["where", "field"], [[one["where"], one["field"]] for one in places[:SHOWN]])
        session.output.note(f"found in {plural(result['found'], 'place')}")
    if result["found"]:
        raise typer.Exit(1)


def _show_damages(session: Session, report: Json) -> None:
    examples = report["examples"]
    session.output.table(
        ["problem", "of", "id", "detail"],
        [[one["kind"], one["of"], one["id"], one["detail"]] for one in examples[:SHOWN]],
    )
    total = sum(report["counts"].values())
    if total > SHOWN:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in report["counts"].items())
        session.output.note(f"{plural(total, 'problem')}: {kinds}")
