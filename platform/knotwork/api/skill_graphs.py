"""Skill graphs: put, read, checked, drawn, and stepped through. The conversation's state is the caller's."""

from __future__ import annotations

import json
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from knotwork.api.auth import Reading, Writing
from knotwork.api.paging import After, Limit, cursor, read_cursor
from knotwork.api.problems import ALWAYS, problem_responses
from knotwork.api.skill_schemas import (
    CheckAnswer,
    DeclarationBody,
    DrawingAnswer,
    GraphDetail,
    GraphPut,
    GraphVersionOut,
    SkillGraphPage,
    StepBody,
    StepOut,
)
from knotwork.api.state import state_of

router = APIRouter(prefix="/v1/skill-graphs", tags=["skill graphs"])

BODY = ("upload_too_large", "upload_stalled")
UNREADABLE = ("invalid_declaration", "invalid_skill_graph")
ADDRESS = "/{name}"

Version = Annotated[str | None, Query(description="Hash of a version; absent: the present one.", max_length=100)]


@router.get("", responses=problem_responses(*ALWAYS))
async def list_skill_graphs(
    request: Request, identity: Reading, after: After = None, limit: Limit = 100
) -> SkillGraphPage:
    """The tenant's skill graphs, by name."""
    start = read_cursor(after, 1)[0] if after else ""
    found = await state_of(request).platform.skill_graphs.list(identity.tenant, after=start, limit=limit)
    return SkillGraphPage(
        items=[GraphVersionOut.of(one) for one in found], next=cursor(found[-1].name) if len(found) == limit else None
    )


@router.post("/check", responses=problem_responses(*ALWAYS, *BODY, *UNREADABLE))
async def check_skill_graph(request: Request, identity: Reading, body: DeclarationBody) -> CheckAnswer:
    """Check and draw a declaration; nothing is stored."""
    del identity  # who may read may check
    return CheckAnswer.of(await state_of(request).platform.skill_graphs.check(_text(body)))


@router.put(ADDRESS, responses=problem_responses(*ALWAYS, *BODY, *UNREADABLE))
async def put_skill_graph(request: Request, identity: Writing, name: str, body: DeclarationBody) -> GraphPut:
    """Make a declaration the present version of a graph. Versions before are kept; equal content changes nothing."""
    return GraphPut.done(await state_of(request).platform.skill_graphs.put(identity.tenant, name, _text(body)))


@router.get(ADDRESS, responses=problem_responses(*ALWAYS, "not_found"))
async def get_skill_graph(request: Request, identity: Reading, name: str, version: Version = None) -> GraphDetail:
    """A version's declaration as it was put, and the list of all versions."""
    graphs = state_of(request).platform.skill_graphs
    stored = await graphs.get(identity.tenant, name, version)
    return GraphDetail.stored(stored, await graphs.versions(identity.tenant, name))


@router.delete(ADDRESS, status_code=204, responses=problem_responses(*ALWAYS, "not_found"))
async def delete_skill_graph(request: Request, identity: Writing, name: str) -> Response:
    """Remove a graph with all its versions."""
    await state_of(request).platform.skill_graphs.delete(identity.tenant, name)
    return Response(status_code=204)


@router.get(f"{ADDRESS}/checkup", responses=problem_responses(*ALWAYS, "not_found", *UNREADABLE))
async def check_stored_skill_graph(
    request: Request, identity: Reading, name: str, version: Version = None
) -> CheckAnswer:
    """Check and draw a stored version."""
    return CheckAnswer.of(await state_of(request).platform.skill_graphs.inspect(identity.tenant, name, version))


@router.get(f"{ADDRESS}/drawing", responses=problem_responses(*ALWAYS, "not_found", *UNREADABLE))
async def draw_skill_graph(request: Request, identity: Reading, name: str, version: Version = None) -> DrawingAnswer:
    """Draw a stored version as a Mermaid flowchart."""
    found = await state_of(request).platform.skill_graphs.inspect(identity.tenant, name, version)
    return DrawingAnswer(mermaid=found.mermaid)


@router.post(
    f"{ADDRESS}/step",
    responses=problem_responses(
        *ALWAYS,
        *BODY,
        *UNREADABLE,
        "not_found",
        "unknown_skill",
        "jump_refused",
        "predicate_failed",
        "scoring_failed",
    ),
)
async def step_skill_graph(
    request: Request, identity: Reading, name: str, body: StepBody, version: Version = None
) -> StepOut:
    """Say where a conversation stands after one iteration, which skills are active, where it may go, and why.

    The service keeps no state: send `cursor` back as `current_skill_id` of the next iteration.
    """
    stepped = await state_of(request).platform.skill_graphs.step(
        identity.tenant, name, body.context.value(), version=version, jump_to=body.jump_to
    )
    return StepOut.of(stepped)


def _text(body: DeclarationBody) -> str:
    declaration = body.declaration
    return declaration if isinstance(declaration, str) else json.dumps(declaration, ensure_ascii=False, indent=2)
