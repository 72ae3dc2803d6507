"""`knotwork usage` and `tenants quota`: what a tenant's queries used, and what it may use."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import typer

from knotwork.cli.session import Session, command

Json = dict[str, Any]

Most = Annotated[int | None, typer.Option(min=0, metavar="N")]
Day = Annotated[datetime | None, typer.Option(formats=["%Y-%m-%d"], metavar="YYYY-MM-DD")]


def register(app: typer.Typer) -> None:
    """Add `usage`; `quota` is a command of the group `tenants`."""
    command(app, "usage")(usage)


def usage(session: Session, since: Day = None, until: Day = None) -> None:
    """Show what the tenant's queries used, by day, mode and model, and what is left of its quota.

    The last 30 days unless --since and --until say otherwise; days are those of UTC.
    """
    from knotwork.cli.client import quoted

    days = {"since": _day(since), "until": _day(until)}
    found: Json = session.call(lambda client: client.get(f"/tenants/{quoted(session.tenant)}/usage", **_given(days)))
    if session.output.as_json:
        session.output.document(found)
        return
    session.output.table(
        ["day", "mode", "model", "queries", "input tokens", "output tokens"],
        [
            [one["day"], one["mode"], one["model"], one["queries"], one["input_tokens"], one["output_tokens"]]
            for one in found["items"]
        ],
    )
    if not found["items"]:
        session.output.note(f"no query was answered from {found['since']} to {found['until']}")
    for name, most in _given(found["quota"]).items():
        session.output.note(_left(found, name, most))


def quota(
    session: Session,
    name: Annotated[str, typer.Argument(metavar="NAME")],
    queries_per_day: Most = None,
    queries_per_month: Most = None,
    tokens_per_day: Most = None,
    tokens_per_month: Most = None,
    none: Annotated[bool, typer.Option("--none", help="Let it use as much as it likes.")] = False,
) -> None:
    """Set what a tenant may use, in place of what it was; queries beyond it are refused.

    Days and months begin at midnight UTC. Without an option it is shown.
    """
    from knotwork.cli.client import quoted

    body = _given(
        {
            "queries_per_day": queries_per_day,
            "queries_per_month": queries_per_month,
            "tokens_per_day": tokens_per_day,
            "tokens_per_month": tokens_per_month,
        }
    )
    if body and none:
        raise typer.BadParameter("--none and a limit exclude each other")
    path = f"/tenants/{quoted(name)}"
    found: Json = session.call(
        lambda client: client.put(f"{path}/quota", body) if body or none else client.get(f"{path}/usage")
    )
    document = {"tenant": found["tenant"], "quota": found["quota"]}
    if session.output.as_json:
        session.output.document(document)
    elif limits := _given(found["quota"]):
        session.output.facts({limit.replace("_", " "): f"{most:,}" for limit, most in limits.items()})
    else:
        session.output.line(f"tenant {name} may use as much as it likes")


def _left(found: Json, limit: str, most: int) -> str:
    counted, _, period = limit.split("_")
    used = found["today" if period == "day" else period]
    return f"{used[counted]:,} of {most:,} {counted} per {period} used; counting begins anew at {used['ends_at']}"


def _day(value: datetime | None) -> str | None:
    return value.date().isoformat() if value else None


def _given(values: Json) -> Json:
    return {name: value for name, value in values.items() if value is not None}
