"""Jobs: the runs of a tenant, and their progress as it happens."""

from __future__ import annotations

import json

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from knotwork.api.auth import Writing
from knotwork.api.events import MEDIA_TYPE, event_stream, event_text
from knotwork.api.paging import After, Limit, cursor, read_cursor
from knotwork.api.problems import ALWAYS, problem_responses
from knotwork.api.schemas import Job, JobAnswer, JobPage, Paused
from knotwork.api.state import state_of
from knotwork.domain.catalogue import OVER
from knotwork.services.run_queue import Progress

router = APIRouter(prefix="/v1", tags=["jobs"])


@router.get("/jobs", responses=problem_responses(*ALWAYS))
async def list_jobs(request: Request, identity: Writing, after: After = None, limit: Limit = 100) -> JobPage:
    """The tenant's jobs, newest first."""
    start = read_cursor(after, 1)[0] if after else None
    platform = state_of(request).platform
    page = await platform.sources.runs(identity.reader, after=start, limit=limit)
    return JobPage(
        items=[Job.of(run) for run in page.runs],
        next=cursor(page.next) if page.next else None,
        paused=platform.intake.is_paused(identity.tenant),
    )


@router.post("/jobs/pause", responses=problem_responses(*ALWAYS))
async def pause_jobs(request: Request, identity: Writing) -> Paused:
    """Start no job of the tenant until they are resumed, also after a restart.

    Jobs under way are finished, and requests are accepted as ever.
    """
    identity.require_whole_tenant()
    await state_of(request).platform.intake.pause(identity.tenant, paused=True)
    return Paused(paused=True)


@router.post("/jobs/resume", responses=problem_responses(*ALWAYS))
async def resume_jobs(request: Request, identity: Writing) -> Paused:
    """Start the tenant's jobs again, in order of acceptance."""
    identity.require_whole_tenant()
    await state_of(request).platform.intake.pause(identity.tenant, paused=False)
    return Paused(paused=False)


@router.get("/jobs/{job_id}", responses=problem_responses(*ALWAYS, "not_found"))
async def get_job(request: Request, identity: Writing, job_id: str) -> Job:
    """One job."""
    return Job.of(await state_of(request).platform.sources.run(identity.reader, job_id))


@router.delete(
    "/jobs/{job_id}",
    status_code=202,
    responses={200: {"model": JobAnswer, "description": "The job is over: cancelled, or before this call."}}
    | problem_responses(*ALWAYS, "not_found"),
)
async def cancel_job(request: Request, response: Response, identity: Writing, job_id: str) -> JobAnswer:
    """Cancel a job. One that waits is never started; one under way stops at its next step.

    Before it changed anything of the stored source, that stays as it was. After that its text is completed, and the
    chunks not yet read are listed under /v1/failures. A delete under way goes on.
    """
    platform = state_of(request).platform
    run = await platform.sources.run(identity.reader, job_id)
    run = await platform.intake.cancel(identity.tenant, run.id)
    response.status_code = 200 if run.state in OVER else 202
    return JobAnswer(job=Job.of(run))


@router.get(
    "/jobs/{job_id}/events",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "`progress` events {state, step, chunks_done, chunks_total}, then one `done` with the job.",
            "content": {MEDIA_TYPE: {"schema": {"type": "string"}}},
        }
    }
    | problem_responses(*ALWAYS, "not_found"),
)
async def watch_job(request: Request, identity: Writing, job_id: str) -> StreamingResponse:
    """A job's progress as server-sent events until it is over. Leaving never stops the job."""
    state = state_of(request)
    run = await state.platform.sources.run(identity.reader, job_id)
    return event_stream(state, state.platform.intake.watch(identity.tenant, run.id), _event)


def _event(progress: Progress) -> str:
    run = progress.run
    if run.state in OVER:
        return event_text("done", Job.of(run).model_dump_json())
    data = {
        "state": run.state,
        "step": run.step,
        "chunks_done": progress.chunks_done,
        "chunks_total": progress.chunks_total,
    }
    return event_text("progress", json.dumps(data))
