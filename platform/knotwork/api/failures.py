"""Failures: chunks whose extraction failed, and trying them again."""

from __future__ import annotations

from fastapi import APIRouter, Request

from knotwork.api.auth import Writing
from knotwork.api.paging import After, Limit, cursor, read_cursor
from knotwork.api.problems import ALWAYS, problem_responses
from knotwork.api.schemas import FailureOut, FailurePage, Queued
from knotwork.api.state import state_of
from knotwork.domain.model import ChunkId

router = APIRouter(prefix="/v1/failures", tags=["failures"])


@router.get("", responses=problem_responses(*ALWAYS))
async def list_failures(request: Request, identity: Writing, after: After = None, limit: Limit = 100) -> FailurePage:
    """The chunks that the extractor could not read, each with its last error, by chunk id.

    They are found by every query; only the graph lacks what they say.
    """
    start = ChunkId(read_cursor(after, 1)[0]) if after else None
    found = await state_of(request).platform.upkeep.failures(identity.reader, after=start, limit=limit)
    last = found[-1].chunk_id if len(found) == limit else None
    return FailurePage(items=[FailureOut.of(chunk) for chunk in found], next=cursor(last) if last else None)


@router.post("/retry", status_code=202, responses=problem_responses(*ALWAYS))
async def retry_failures(request: Request, identity: Writing) -> Queued:
    """Queue the sources that have failed chunks. Those chunks alone are read again."""
    runs = await state_of(request).platform.upkeep.retry_failures(identity.reader)
    return Queued(queued=len(runs))
