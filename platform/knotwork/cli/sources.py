"""`knotwork sources`: list, show, delete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from knotwork.cli.output import in_line, plural
from knotwork.cli.session import HomeOption, JsonOption, Session, TenantOption, command, merged, open_session

if TYPE_CHECKING:
    from knotwork.cli.client import Client

Json = dict[str, Any]

TypeOption = Annotated[str, typer.Option("--type", metavar="TYPE", help="Type of the sources.")]


def register(app: typer.Typer) -> None:
    """Add the group; without a command it lists."""
    group = typer.Typer(help="List, show and delete sources.")
    group.callback(invoke_without_command=True)(_default)
    command(group, "list")(list_sources)
    command(group, "show")(show_source)
    command(group, "delete")(delete_sources)
    app.add_typer(group, name="sources")


def _default(
    context: typer.Context,
    home: HomeOption = None,
    tenant: TenantOption = None,
    json: JsonOption = False,
) -> None:
    """List, show and delete sources; without a command, list."""
    given = merged(context, home=home, tenant=tenant, json=json)
    context.obj = given
    if context.invoked_subcommand is None:
        list_sources(open_session(**given))


def list_sources(
    session: Session,
    type_: Annotated[str | None, typer.Option("--type", metavar="TYPE", help="Only sources of this type.")] = None,
) -> None:
    """List the sources by type and id."""

    async def work(client: Client) -> list[Json]:
        return [item async for item in client.pages("/sources", type=type_)]

    found = session.call(work)
    if session.output.as_json:
        session.output.document({"items": found})
        return
    session.output.table(
        ["type", "source", "title", "chunks", "readers"],
        [[one["type"], one["id"], one["title"], one["chunks"], ", ".join(one["auth_subjects"])] for one in found],
    )
    session.output.note(plural(len(found), "source"))


def show_source(
    session: Session,
    id_: Annotated[str, typer.Argument(metavar="ID")],
    type_: TypeOption = "document",
    text: Annotated[bool, typer.Option("--text", help="With its whole text as stored.")] = False,
) -> None:
    """Show a source: its readers, metadata and outline."""
    from knotwork.cli.client import source_path

    source = session.call(lambda client: client.get(source_path(type_, id_), text="true" if text else None))
    output = session.output
    if output.as_json:
        output.document(source)
        return
    output.line(in_line(source["title"] or source["id"]), style="bold")
    output.facts(
        {
            "id": source["id"],
            "type": source["type"],
            "format": source["media_type"],
            "readers": ", ".join(source["auth_subjects"]),
            "graph": {None: "as the tenant has it", True: "on", False: "off"}[source["graph"]],
            "size": f"{plural(source['size_chars'], 'character')}, {plural(source['chunks'], 'chunk')}",
            **{f"metadata.{name}": value for name, value in source["metadata"].items()},
        }
    )
    for heading in source["headings"]:
        output.line(heading["text"], indent=2 * heading["level"])
    if text:
        output.line()
        output.line(source["text"])


def delete_sources(
    session: Session,
    ids: Annotated[list[str], typer.Argument(metavar="ID...")],
    type_: TypeOption = "document",
) -> None:
    """Delete sources, with everything that only they said."""
    from knotwork.cli.client import Refused

    async def work(client: Client) -> tuple[list[str], list[Refused]]:
        deleted: list[str] = []
        refused: list[Refused] = []
        for id_ in ids:
            try:
                await client.delete_source(type_, id_)
            except Refused as refusal:
                refused.append(refusal)
            else:
                deleted.append(id_)
        return deleted, refused

    deleted, refused = session.call(work)
    if session.output.as_json:
        problems = [{"code": refusal.code, "message": str(refusal)} for refusal in refused]
        session.output.document({"deleted": deleted, "problems": problems})
    else:
        for id_ in deleted:
            session.output.line(f"deleted {in_line(id_)}")
    for refusal in refused:
        session.output.note(f"failed: {refusal}", style="red")
    if refused:
        raise typer.Exit(1)
