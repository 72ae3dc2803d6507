"""API keys of a tenant. From the first one on, also when it is gone, every call needs a key."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from knotwork.api.auth import Administering
from knotwork.api.problems import ALWAYS, problem_responses
from knotwork.api.schemas import KeyBody, KeyList, KeyOut, NewKey
from knotwork.api.state import state_of
from knotwork.domain.checks import checked_subjects
from knotwork.domain.normalise import clean_text

router = APIRouter(prefix="/v1/keys", tags=["keys"])


@router.post("", status_code=201, responses=problem_responses(*ALWAYS, "upload_too_large", "upload_stalled"))
async def create_key(request: Request, response: Response, identity: Administering, body: KeyBody) -> NewKey:
    """Make a key. Its secret is in this answer and nowhere else."""
    scopes = frozenset(body.scopes)
    subjects = None if body.subjects is None else checked_subjects(body.subjects)
    identity.caller.may_grant(scopes, subjects)
    key, secret = await state_of(request).platform.access.create(
        identity.tenant, name=clean_text(body.name), scopes=scopes, subjects=subjects
    )
    response.headers["Cache-Control"] = "no-store"
    response.headers["Location"] = f"/v1/keys/{key.id}"
    return NewKey.made(key, secret)


@router.get("", responses=problem_responses(*ALWAYS))
async def list_keys(request: Request, identity: Administering) -> KeyList:
    """The tenant's keys that see no more than the caller, without their secrets."""
    return KeyList(items=[KeyOut.of(key) for key in await state_of(request).platform.access.list(identity.caller)])


@router.delete("/{key_id}", status_code=204, responses=problem_responses(*ALWAYS, "not_found"))
async def delete_key(request: Request, identity: Administering, key_id: str) -> Response:
    """Revoke a key."""
    await state_of(request).platform.access.delete(identity.caller, clean_text(key_id))
    return Response(status_code=204)
