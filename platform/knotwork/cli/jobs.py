"""`knotwork jobs`: what was asked for, how far it is, and stopping it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from knotwork.cli.session import HomeOption, JsonOption, Session, TenantOption, command, merged, open_session

if TYPE_CHECKING:
    from knotwork.cli.client import Client

Json = dict[str, Any]

SHOWN = 50


def register(app: typer.Typer) -> None:
    """Add the group; without a command it lists."""
    group = typer.Typer(help="List and cancel jobs, pause and resume them.")
    group.callback(invoke_without_command=True)(_default)
    command(group, "list")(list_jobs)
    command(group, "cancel")(cancel_jobs)
    command(group, "pause")(pause_jobs)
    command(group, "resume")(resume_jobs)
    app.add_typer(group, name="jobs")


def _default(
    context: typer.Context,
    home: HomeOption = None,
    tenant: TenantOption = None,
    json: JsonOption = False,
) -> None:
    """List and cancel jobs, pause and resume them; without a command, list."""
    given = merged(context, home=home, tenant=tenant, json=json)
    context.obj = given
    if context.invoked_subcommand is None:
        list_jobs(open_session(**given))


def list_jobs(
    session: Session, limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Jobs, at most.")] = SHOWN
) -> None:
    """List the jobs, newest first."""

    async def work(client: Client) -> tuple[list[Json], bool]:
        found: list[Json] = []
        async for job in client.pages("/jobs"):
            found.append(job)
            if len(found) == limit:
                break
        return found, (await client.get("/jobs", limit=1))["paused"]

    found, paused = session.call(work)
    if session.output.as_json:
        session.output.document({"items": found, "paused": paused})
        return
    session.output.table(
        ["id", "kind", "source", "state", "step", "error"],
        [
            [
                job["id"],
                job["kind"],
                job["source"]["id"],
                job["state"],
                job["step"],
                _message(job),
            ]
            for job in found
        ],
    )
    if paused:
        session.output.note("paused; `knotwork jobs resume` starts them again", style="yellow")


def cancel_jobs(session: Session, ids: Annotated[list[str], typer.Argument(metavar="ID...")]) -> None:
    """Cancel jobs. One that waits is never started; one under way stops at its next step.

    A source that nothing was changed of stays as it was; else its text is completed, and the chunks not yet read are
    listed by `knotwork failures`.
    """
    from knotwork.cli.client import quoted

    async def work(client: Client) -> list[Json]:
        return [(await client.delete(f"/jobs/{quoted(id_)}"))["job"] for id_ in ids]

    jobs = session.call(work)
    if session.output.as_json:
        session.output.document({"items": jobs})
        return
    for job in jobs:
        session.output.line(f"{job['id']} is {job['state']}")


def pause_jobs(session: Session) -> None:
    """Start no job of the tenant until they are resumed, also after a restart."""
    _pause(session, "pause", "paused; what is under way is finished")


def resume_jobs(session: Session) -> None:
    """Start the tenant's jobs again."""
    _pause(session, "resume", "resumed")


def _message(job: Json) -> str:
    return job["error"]["message"] if job["error"] else ""


def _pause(session: Session, verb: str, said: str) -> None:
    answer = session.call(lambda client: client.post(f"/jobs/{verb}", {}))
    if session.output.as_json:
        session.output.document(answer)
    else:
        session.output.line(said)
