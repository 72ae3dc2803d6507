"""`knotwork keys` and `tenants`: who may use the service, and what each tenant chose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from knotwork.cli.session import Session, command
from knotwork.cli.usage import quota

if TYPE_CHECKING:
    from knotwork.cli.client import Client

Json = dict[str, Any]

SCOPES = "read, write, admin (tenants and keys) or act-as (may pass an end user's subjects)"
Name = Annotated[str, typer.Argument(metavar="NAME")]


def register(app: typer.Typer) -> None:
    """Add both groups."""
    keys = typer.Typer(help="API keys of a tenant. Once one exists, every REST call needs one.")
    command(keys, "create")(create_key)
    command(keys, "list")(list_keys)
    command(keys, "delete")(delete_key)
    app.add_typer(keys, name="keys")
    tenants = typer.Typer(help="Tenants: isolated owners of sources.")
    command(tenants, "list")(list_tenants)
    command(tenants, "show")(show_tenant)
    command(tenants, "set")(set_tenant)
    command(tenants, "quota")(quota)
    command(tenants, "delete")(delete_tenant)
    app.add_typer(tenants, name="tenants")


def create_key(
    session: Session,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is for.")],
    scope: Annotated[list[str] | None, typer.Option(help=f"{SCOPES}; read if not given.")] = None,
    subject: Annotated[
        list[str] | None, typer.Option(help="With whose eyes it reads, such as group:sre; else it sees every source.")
    ] = None,
) -> None:
    """Make an API key; its secret is shown once."""
    body = {"name": name, "scopes": scope or ["read"], "subjects": subject or None}
    key = session.call(lambda client: client.post("/keys", body))
    if session.output.as_json:
        session.output.document(key)
        return
    session.output.line(key["secret"])
    session.output.note(f"key {key['id']} of tenant {key['tenant']}; this secret is shown once, so keep it now")


def list_keys(session: Session) -> None:
    """List the tenant's keys, without their secrets."""
    found = session.call(lambda client: client.get("/keys"))
    if session.output.as_json:
        session.output.document(found)
        return
    session.output.table(
        ["id", "name", "scopes", "reads as"],
        [[key["id"], key["name"], ", ".join(key["scopes"]), _reads_as(key["subjects"])] for key in found["items"]],
    )


def delete_key(session: Session, id_: Annotated[str, typer.Argument(metavar="ID")]) -> None:
    """Revoke a key."""
    from knotwork.cli.client import quoted

    session.call(lambda client: client.delete(f"/keys/{quoted(id_)}"))
    _done(session, {"deleted": id_}, f"deleted key {id_}")


def list_tenants(session: Session) -> None:
    """List the tenants."""
    found = session.call(lambda client: client.get("/tenants"))
    if session.output.as_json:
        session.output.document(found)
        return
    for name in found["items"]:
        session.output.line(name)


def show_tenant(session: Session, name: Name) -> None:
    """Show a tenant's settings, and how much it has."""
    from knotwork.cli.client import quoted

    found = session.call(lambda client: client.get(f"/tenants/{quoted(name)}"))
    if session.output.as_json:
        session.output.document(found)
        return
    session.output.facts({"tenant": found["tenant"], **found["settings"], **found["counts"]})


def set_tenant(
    session: Session,
    name: Name,
    graph: Annotated[
        bool | None,
        typer.Option("--graph/--no-graph", help="Switch of the graph; else on, unless extraction calls a model."),
    ] = None,
    extraction_model: Annotated[str | None, typer.Option(help="Model that extracts; else the service's.")] = None,
) -> None:
    """Create a tenant, or replace its settings; its sources follow them at once."""
    from knotwork.cli.client import quoted

    body = {"graph": graph, "extraction_model": extraction_model}

    async def work(client: Client) -> Json:
        return await client.put(f"/tenants/{quoted(name)}", body)

    found = session.call(work)
    _done(session, found, f"tenant {name} is set; {found['queued']} sources follow")


def delete_tenant(
    session: Session,
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Remove a tenant with everything it has: sources, graph, jobs and keys."""
    from knotwork.cli.client import quoted

    if not yes:
        typer.confirm(f"Delete tenant {name} with everything it has?", abort=True, err=True)
    session.call(lambda client: client.delete(f"/tenants/{quoted(name)}"))
    _done(session, {"deleted": name}, f"deleted tenant {name}")


def _done(session: Session, document: Json, line: str) -> None:
    if session.output.as_json:
        session.output.document(document)
    else:
        session.output.line(line)


def _reads_as(subjects: list[str] | None) -> str:
    return "everything" if subjects is None else ", ".join(subjects)
