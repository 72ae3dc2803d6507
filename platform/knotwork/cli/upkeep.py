"""`knotwork failures`, `stale` and `reindex`: what is not as it should be, and having it done again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from knotwork.cli.output import plural
from knotwork.cli.session import Session, command

if TYPE_CHECKING:
    from knotwork.cli.client import Client

Json = dict[str, Any]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    command(app, "failures")(failures)
    command(app, "stale")(stale)
    command(app, "reindex")(reindex)


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


def stale(session: Session) -> None:
    """List the sources whose chunker, embedding model or extractor is not the present one. No model is asked."""

    async def work(client: Client) -> list[Json]:
        return [item async for item in client.pages("/stale")]

    found = session.call(work)
    if session.output.as_json:
        session.output.document({"items": found})
        return
    session.output.table(
        ["type", "source", "stale"],
        [[one["source"]["type"], one["source"]["id"], ", ".join(one["reasons"])] for one in found],
    )
    session.output.note(plural(len(found), "stale source"))


def reindex(
    session: Session,
    everything: Annotated[bool, typer.Option("--all", help="Every source, not only stale ones.")] = False,
) -> None:
    """Queue stale sources to be indexed again.

    What is up to date costs no model call, so an interrupted round may simply begin anew.
    """

    async def work(client: Client) -> int:
        queued, after = 0, ""
        while True:
            page = await client.post(f"/reindex?all={str(everything).lower()}{after and '&after=' + after}", {})
            queued += page["queued"]
            if page["next"] is None:
                return queued
            after = page["next"]

    queued = session.call(work)
    if session.output.as_json:
        session.output.document({"queued": queued})
    else:
        session.output.line(f"{plural(queued, 'source')} queued")
