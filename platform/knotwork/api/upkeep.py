"""Upkeep: sources that the present configuration would make otherwise, and having them indexed again."""

from __future__ import annotations

from fastapi import APIRouter, Request

from knotwork.api.auth import Writing
from knotwork.api.paging import After, Limit, cursor, read_cursor
from knotwork.api.problems import ALWAYS, problem_responses
from knotwork.api.schemas import QueuedPage, StaleOut, StalePage
from knotwork.api.state import state_of
from knotwork.domain.model import SourceRef

router = APIRouter(prefix="/v1", tags=["upkeep"])


@router.get("/stale", responses=problem_responses(*ALWAYS))
async def list_stale(request: Request, identity: Writing, after: After = None, limit: Limit = 100) -> StalePage:
    """Those of the next `limit` sources whose chunker, embedding model or extractor is not the present one.

    No model is asked. A page may be empty while others follow.
    """
    page = await state_of(request).platform.upkeep.stale(identity.reader, after=_start(after), limit=limit)
    return StalePage(items=[StaleOut.of(one) for one in page.sources], next=_cursor(page.next))


@router.post("/reindex", status_code=202, responses=problem_responses(*ALWAYS))
async def reindex(
    request: Request,
    identity: Writing,
    after: After = None,
    limit: Limit = 100,
    all: bool = False,  # noqa: A002 - its public name
) -> QueuedPage:
    """Queue the stale ones of the next `limit` sources, or with `all` each of them. Go on with `next`.

    A source that is up to date costs no model call, so an interrupted round may simply begin anew.
    """
    page = await state_of(request).platform.upkeep.reindex(
        identity.reader, after=_start(after), limit=limit, stale_only=not all
    )
    return QueuedPage(queued=len(page.runs), next=_cursor(page.next))


def _start(after: str | None) -> SourceRef | None:
    return SourceRef(*read_cursor(after, 2)) if after else None


def _cursor(last: SourceRef | None) -> str | None:
    return cursor(last.type, last.id) if last else None
