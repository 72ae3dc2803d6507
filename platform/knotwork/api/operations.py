"""Maintenance of the stores: verify, search, repair, compact. Each is an operation, followed as jobs are."""

from __future__ import annotations

import json
from typing import Annotated

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import Field

from knotwork.api.auth import Administering, Identity
from knotwork.api.events import MEDIA_TYPE, event_stream, event_text
from knotwork.api.operation_schemas import OperationAnswer, OperationList, OperationOut
from knotwork.api.problems import ALWAYS, problem_responses
from knotwork.api.schemas import Body
from knotwork.api.state import State, state_of
from knotwork.domain.model import TenantId
from knotwork.domain.search_text import Needle
from knotwork.errors import NotFound
from knotwork.services.maintenance import Operation, OperationKind

router = APIRouter(prefix="/v1", tags=["maintenance"])

MAX_TEXT_CHARS = 8192
STARTS = (*ALWAYS, "maintenance_under_way", "upload_too_large", "upload_stalled")


class SearchBody(Body):
    """A text that should be nowhere."""

    text: Annotated[str, Field(min_length=1, max_length=MAX_TEXT_CHARS)] = Field(examples=["Ada Lovelace"])


@router.post("/verify", status_code=202, responses=problem_responses(*STARTS))
async def verify(request: Request, response: Response, identity: Administering) -> OperationAnswer:
    """Compare the tenant's rows in both stores with each other and with the stored texts, id by id and hash by hash.

    The result counts what does not agree, by kind. The tenant's jobs wait meanwhile.
    """
    state, tenant = await whole_tenant(request, identity)
    work = state.platform.verifier.verify
    started = state.platform.maintenance.start(OperationKind.VERIFY, tenant, lambda tell: work(tenant, tell))
    return answer(response, started)


@router.post("/verify/gone", status_code=202, responses=problem_responses(*STARTS))
async def verify_gone(
    request: Request, response: Response, identity: Administering, body: SearchBody
) -> OperationAnswer:
    """Search every property of the tenant's rows in both stores, compressed ones included, for a text.

    It is looked for as it is, no pattern; case, composition of characters and kind of white space do not count.
    """
    state, tenant = await whole_tenant(request, identity)
    Needle(body.text)  # refused now rather than later
    work = state.platform.verifier.search
    started = state.platform.maintenance.start(OperationKind.SEARCH, tenant, lambda tell: work(tenant, body.text, tell))
    return answer(response, started)


@router.post("/repair", status_code=202, responses=problem_responses(*STARTS))
async def repair(request: Request, response: Response, identity: Administering) -> OperationAnswer:
    """Mend what a verify finds, from the stored texts and the evidence, until another finds nothing."""
    state, tenant = await whole_tenant(request, identity)
    work = state.platform.repairer.repair
    started = state.platform.maintenance.start(OperationKind.REPAIR, tenant, lambda tell: work(tenant, tell))
    return answer(response, started)


@router.post("/compact", status_code=202, responses=problem_responses(*STARTS))
async def compact(request: Request, response: Response, identity: Administering) -> OperationAnswer:
    """Rewrite the embedded stores, so that what was deleted leaves their files and logs; for the operator.

    Requests wait to be accepted meanwhile; queries are answered, but for the seconds in which Neo4j starts again. Room
    for a second copy of the larger store is needed. Stores of your own are passed over.
    """
    identity.require_operator()
    identity.require_whole_tenant()
    state = state_of(request)
    return answer(
        response, state.platform.maintenance.start(OperationKind.COMPACT, None, state.platform.compaction.compact)
    )


@router.get("/operations", responses=problem_responses(*ALWAYS))
async def list_operations(request: Request, identity: Administering) -> OperationList:
    """The operations under way and the last that are over, newest first."""
    found = state_of(request).platform.maintenance.operations()
    return OperationList(items=[OperationOut.of(one) for one in found if _may_see(identity, one)])


@router.get("/operations/{operation_id}", responses=problem_responses(*ALWAYS, "not_found"))
async def get_operation(request: Request, identity: Administering, operation_id: str) -> OperationOut:
    """One operation; when it is done, with its result. A restart of the service forgets it."""
    return OperationOut.of(_visible(request, identity, operation_id))


@router.delete("/operations/{operation_id}", responses=problem_responses(*ALWAYS, "not_found"))
async def cancel_operation(request: Request, identity: Administering, operation_id: str) -> OperationAnswer:
    """Cancel an operation; answered when it has cleaned up.

    An import takes back what it stored. A compaction goes on to its end.
    """
    operation = _visible(request, identity, operation_id)
    cancelled = await state_of(request).platform.maintenance.cancel(operation.id)
    return OperationAnswer(operation=OperationOut.of(cancelled))


@router.get(
    "/operations/{operation_id}/events",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "`progress` events {state, step, done, total}, then one `done` with the operation.",
            "content": {MEDIA_TYPE: {"schema": {"type": "string"}}},
        }
    }
    | problem_responses(*ALWAYS, "not_found"),
)
async def watch_operation(request: Request, identity: Administering, operation_id: str) -> StreamingResponse:
    """An operation's progress as server-sent events until it is over. Leaving never stops it."""
    state = state_of(request)
    operation = _visible(request, identity, operation_id)
    return event_stream(state, state.platform.maintenance.watch(operation.id), _event)


def answer(response: Response, operation: Operation) -> OperationAnswer:
    """An operation that has begun."""
    response.headers["Location"] = f"/v1/operations/{operation.id}"
    return OperationAnswer(operation=OperationOut.of(operation))


async def whole_tenant(request: Request, identity: Identity) -> tuple[State, TenantId]:
    """The tenant that the operation concerns, every source of it.

    Raises:
        NotAllowed: the caller is limited to some subjects, or acts for somebody.
        UnknownTenant: there is no such tenant.
    """
    identity.require_whole_tenant()
    state = state_of(request)
    await state.platform.tenants.require(identity.tenant)
    return state, identity.tenant


def _visible(request: Request, identity: Identity, id_: str) -> Operation:
    operation = state_of(request).platform.maintenance.operation(id_)
    if not _may_see(identity, operation):
        raise NotFound("operation", id_)
    return operation


def _may_see(identity: Identity, operation: Operation) -> bool:
    """The operator sees all; a key those of its tenant, if it sees every source of it."""
    return identity.is_operator or (operation.tenant == identity.tenant and identity.caller.subjects is None)


def _event(operation: Operation) -> str:
    if operation.is_over:
        return event_text("done", OperationOut.of(operation).model_dump_json())
    data = {
        "state": operation.state.value,
        "step": operation.step,
        "done": operation.done,
        "total": operation.total,
    }
    return event_text("progress", json.dumps(data))
