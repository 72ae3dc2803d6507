"""`knotwork ask`, `search` and `entity`: what is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from knotwork.cli.output import json_text
from knotwork.cli.passages import show_passages
from knotwork.cli.session import Session, command
from knotwork.domain.normalise import normalise_name
from knotwork.domain.retrieval import MAX_TOP_K, Mode

if TYPE_CHECKING:
    from knotwork.cli.client import Client

Json = dict[str, Any]

MODES = ", ".join(Mode)
SHOWN_ENTITIES = 50

TopK = Annotated[int, typer.Option("--top-k", "-k", min=1, max=MAX_TOP_K, help="Passages, at most.")]
Filters = Annotated[
    list[str] | None,
    typer.Option(
        "--filter",
        metavar="FIELD=VALUE",
        help="Only sources of which this holds: source_type, source_id, or metadata. FIELD:=JSON for numbers, "
        "FIELD>=X and FIELD<=X for bounds; a field given twice matches either value.",
    ),
]
MinScore = Annotated[float | None, typer.Option("--min-score", help="Least score, on the scale of the mode.")]
Diversity = Annotated[
    float, typer.Option("--diversity", min=0, max=1, help="How much passages shall not repeat each other, 0 to 1.")
]
Rerank = Annotated[bool, typer.Option("--rerank", help="Have the configured reranker order them, on its scale.")]
Weights = Annotated[
    str | None,
    typer.Option("--weights", metavar="S:K", help="Of mode hybrid: what meaning and words weigh, such as 1:2."),
]
Explain = Annotated[bool, typer.Option("--explain", help="Tell how the answer came about.")]
Whole = Annotated[bool, typer.Option("--full", help="Passages in full length.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    command(app, "ask")(ask)
    command(app, "search")(search)
    command(app, "entity")(entity)


def ask(
    session: Session,
    question: Annotated[str, typer.Argument(help="In plain words.")],
    mode: Annotated[Mode, typer.Option(help="How to look for the answer.")] = Mode.LOCAL,
    top_k: TopK = 5,
    filter_: Filters = None,
    min_score: MinScore = None,
    diversity: Diversity = 0.0,
    rerank: Rerank = False,
    explain: Explain = False,
    whole: Whole = False,
) -> None:
    """Show the passages that answer a question.

    They are numbered, each with its source and what led to it. Mode local goes from what the question names through
    the graph, so it finds what no single passage says; mode auto chooses by what the question looks like, and says why.
    """
    _query(
        session,
        question,
        {
            "mode": mode,
            "top_k": top_k,
            "min_score": min_score,
            "diversity": diversity or None,
            "rerank": rerank or None,
        },
        filter_,
        explain=explain,
        whole=whole,
    )


def search(
    session: Session,
    query: Annotated[str, typer.Argument(help="Words, a code, a question.")],
    mode: Annotated[Mode, typer.Option(help="How to search.")] = Mode.HYBRID,
    top_k: TopK = 10,
    filter_: Filters = None,
    min_score: MinScore = None,
    diversity: Diversity = 0.0,
    rerank: Rerank = False,
    weights: Weights = None,
    explain: Explain = False,
    whole: Whole = False,
) -> None:
    """Search passages in a mode of your choice.

    By meaning (semantic), by words (keyword), by both (hybrid), by choosing documents from their outlines (navigate),
    or through the graph (local, paths); auto chooses one of them and says why.
    """
    from knotwork.cli.parsing import parse_weights

    options = {
        "mode": mode,
        "top_k": top_k,
        "min_score": min_score,
        "diversity": diversity or None,
        "rerank": rerank or None,
        "weights": None if weights is None else parse_weights(weights),
    }
    _query(session, query, options, filter_, explain=explain, whole=whole)


def entity(
    session: Session,
    name: Annotated[str, typer.Argument(help="A name or its beginning, or an id such as 'concept:retry budget'.")],
) -> None:
    """Show an entity and what is tied to it.

    With the passages that name it and its relationships; where the name is the beginning of several, a list.
    """
    found = session.call(lambda client: _find_entity(client, name))
    if session.output.as_json:
        session.output.document(found)
    elif "items" in found:
        session.output.table(
            ["entity", "name", "mentions"], [[item["id"], item["name"], item["mentions"]] for item in found["items"]]
        )
    else:
        _show_entity(session, found)


async def query(client: Client, question: str, *, mode: Mode, top_k: int = 5, **more: Any) -> Json:
    """The service's answer: mode, passages, usage, elapsed_ms, degraded."""
    body = {"query": question, "mode": mode.value, "top_k": top_k} | {k: v for k, v in more.items() if v is not None}
    return await client.post("/query", body)


def _query(
    session: Session,
    question: str,
    options: dict[str, Any],
    filters: list[str] | None,
    *,
    explain: bool,
    whole: bool,
) -> None:
    from knotwork.cli.parsing import parse_filter_options

    conditions = parse_filter_options(filters) if filters else None
    answer = session.call(lambda client: query(client, question, **options, filter=conditions, explain=explain or None))
    if session.output.as_json:
        session.output.document(answer)
        return
    if answer["degraded"]:
        session.output.note(f"answered without {', '.join(answer['degraded'])}; see `knotwork status`", style="yellow")
    told = answer["explanation"] or {}
    if auto := told.get("auto"):
        session.output.note(f"mode {auto['mode']}: {auto['why']}")
    show_passages(session.output, answer["passages"], whole=whole)
    if fallback := told.get("fallback"):
        session.output.note(
            f"documents were chosen by {fallback['to']}, as {fallback['from']} failed: {fallback['reason']}",
            style="yellow",
        )
    if explain:
        session.output.line(json_text(told))
    if not answer["passages"]:
        session.output.note("no passage found; `knotwork sources` lists what is indexed")


async def _find_entity(client: Client, name: str) -> Json:
    """One entity in full when the name tells which, else the list of those that begin so."""
    from knotwork.cli.client import Refused, quoted

    if ":" in name:
        try:
            return await client.get(f"/graph/entities/{quoted(name)}")
        except Refused as refusal:
            if refusal.code != "not_found":
                raise
    page = await client.get("/graph/entities", name=name, limit=SHOWN_ENTITIES)
    items: list[Json] = page["items"]
    exact = [item for item in items if normalise_name(item["name"]) == normalise_name(name)]
    only = exact if len(exact) == 1 else items
    if len(only) == 1:
        return await client.get(f"/graph/entities/{quoted(only[0]['id'])}")
    if not items:
        raise Refused(
            code="not_found",
            message=f"no entity's name begins with {name!r}; `knotwork ask` searches texts",
            status=404,
        )
    return page


def _show_entity(session: Session, found: Json) -> None:
    output, about = session.output, found["entity"]
    output.line(f"{about['name']}  ({about['id']})", style="bold")
    if about["description"]:
        output.line(about["description"])
    if found["surface_forms"]:
        output.line(f"written as: {', '.join(found['surface_forms'])}")
    output.line()
    output.line(f"relationships ({len(found['relationships'])})", style="bold")
    output.table(
        ["from", "type", "to", "passages"],
        [[fact["from_name"], fact["type"], fact["to_name"], fact["weight"]] for fact in found["relationships"]],
    )
    output.line()
    output.line(f"named in {about['mentions']} passages", style="bold")
    output.table(["passage", "as"], [[mention["chunk_id"], mention["name"]] for mention in found["mentions"]])
