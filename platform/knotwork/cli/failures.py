"""`knotwork failures`: what could not be read, and trying it again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from knotwork.cli.output import plural
from knotwork.cli.session import Session, command

if TYPE_CHECKING:
    from knotwork.cli.client import Client

Json = dict[str, Any]


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "failures")(failures)


def failures(
    session: Session,
    retry: Annotated[bool, typer.Option("--retry", help="Have them read again, and nothing else.")] = False,
) -> None:
    """List the chunks that the extractor could not read, or try them again.

    Every query finds them; only the graph lacks what they say.
    """
    if retry:
        queued = session.call(lambda client: client.post("/failures/retry", {}))
        if session.output.as_json:
            session.output.document(queued)
        else:
            session.output.line(f"{plural(queued['queued'], 'source')} queued")
        return

    async def work(client: Client) -> list[Json]:
        return [item async for item in client.pages("/failures")]

    found = session.call(work)
    if session.output.as_json:
        session.output.document({"items": found})
        return
    session.output.table(
        ["source", "chunk", "attempts", "code", "error"],
        [
            [one["source"]["id"], one["index"], one["attempts"], one["error"]["code"], one["error"]["message"]]
            for one in found
        ],
    )
    session.output.note(plural(len(found), "failed chunk"))
