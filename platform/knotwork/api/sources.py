"""Sources: put, list, read, change, delete."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from knotwork.api.addresses import NAME
from knotwork.api.auth import Identity, Reading, Writing
from knotwork.api.paging import After, Limit, cursor, read_cursor
from knotwork.api.problems import ALWAYS, problem_responses
from knotwork.api.schemas import (
    HeadingOut,
    Job,
    JobAnswer,
    SourceDetail,
    SourcePage,
    SourcePatch,
    SourceSummary,
    source_detail,
)
from knotwork.api.state import state_of
from knotwork.api.uploads import json_object, receive_upload
from knotwork.domain.catalogue import Run, RunState, SourceChange
from knotwork.domain.checks import checked_metadata, checked_ref, checked_subjects
from knotwork.domain.filters import AnyOf, Filter, parse_filter
from knotwork.domain.model import Source, SourceRef
from knotwork.domain.normalise import clean_text
from knotwork.errors import InvalidInput, RunFailed

router = APIRouter(prefix="/v1", tags=["sources"])

ADDRESS = f"/sources/{{source_type}}/{{source_id:{NAME}}}"
Wait = Annotated[bool, Query(description="Answer when the job is over, with its result, instead of at once.")]
WAITED: dict[int | str, dict[str, Any]] = {200: {"model": JobAnswer, "description": "The job is done (`wait=true`)."}}

UPLOAD: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": {"$ref": "#/components/schemas/TextSource"}},
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "properties": {
                        "file": {"type": "string", "format": "binary"},
                        "metadata": {"type": "string", "description": "A JSON object."},
                        "auth_subjects": {"type": "string", "description": "A JSON list of strings."},
                        "graph": {"type": "string", "enum": ["true", "false"]},
                        "title": {"type": "string"},
                    },
                }
            },
            "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
        },
    }
}
"""Read by hand (api/uploads.py), as a body of three forms that may not fit into memory."""


@router.put(
    ADDRESS,
    status_code=202,
    responses=WAITED
    | problem_responses(
        *ALWAYS, "not_found", "unsupported_document", "upload_too_large", "upload_stalled", "run_failed", "model_failed"
    ),
    openapi_extra=UPLOAD,
)
async def put_source(
    request: Request,
    response: Response,
    identity: Writing,
    source_type: str,
    source_id: str,
    wait: Wait = False,
    metadata: Annotated[str | None, Query(description="A JSON object; with a raw body only.")] = None,
    auth_subjects: Annotated[str | None, Query(description="A JSON list; with a raw body only.")] = None,
    graph: Annotated[str | None, Query(description="true or false; with a raw body only.")] = None,
    title: Annotated[str | None, Query(description="With a raw body only.")] = None,
) -> JobAnswer:
    """Put a document in place of what it was: text, readers, metadata and flag.

    The body is a form with a `file`, JSON with `text`, or the file itself under its own Content-Type; the file's
    name is then the last part of the source id. Text, Markdown, HTML, PDF, DOCX, JSON Lines and CSV are read.
    """
    del metadata, auth_subjects, graph, title  # documented here, read by receive_upload
    state = state_of(request)
    ref = checked_ref(source_type, source_id)
    async with receive_upload(request, PurePosixPath(ref.id).name or ref.id) as upload, state.reading:
        data, about, media_type = await upload.read()
        document = await state.platform.parser.parse(data, name=upload.name, media_type=media_type)
        parsed = replace(document.text, title=about.title or document.text.title)
        source = Source(
            ref,
            parsed.title,
            content_hash="",  # computed with the text when it is accepted
            auth_subjects=about.auth_subjects,
            metadata=about.metadata,
            media_type=document.media_type,
            graph=about.graph,
        )
        run = await state.platform.sources.put(identity.reader, source, parsed)
    return await _answer(request, response, identity, run, wait=wait)


@router.get("/sources", responses=problem_responses(*ALWAYS))
async def list_sources(
    request: Request,
    identity: Reading,
    after: After = None,
    limit: Limit = 100,
    type: Annotated[str | None, Query(description="Sources of this type only.")] = None,  # noqa: A002 - its public name
    filter: Annotated[str | None, Query(description="A filter as of a query, as JSON.")] = None,  # noqa: A002 - the same
) -> SourcePage:
    """The sources that the caller may see, by type and id."""
    start = SourceRef(*read_cursor(after, 2)) if after else None
    found = await state_of(request).platform.sources.list(
        identity.reader, filter_=_filter(type, filter), after=start, limit=limit
    )
    last = found[-1].ref if len(found) == limit else None
    return SourcePage(
        items=[SourceSummary.of(source) for source in found], next=cursor(last.type, last.id) if last else None
    )


@router.get(ADDRESS, responses=problem_responses(*ALWAYS, "not_found"))
async def get_source(
    request: Request,
    identity: Reading,
    source_type: str,
    source_id: str,
    text: Annotated[bool, Query(description="With its whole text.")] = False,
) -> SourceDetail:
    """One source with its outline."""
    source, parsed = await state_of(request).platform.sources.get(identity.reader, checked_ref(source_type, source_id))
    headings = [HeadingOut.of(heading) for heading in parsed.headings]
    return source_detail(source, headings, len(parsed.pages), parsed.text if text else None)


@router.patch(
    ADDRESS,
    status_code=202,
    responses=WAITED | problem_responses(*ALWAYS, "not_found", "upload_too_large", "upload_stalled", "run_failed"),
)
async def patch_source(
    request: Request,
    response: Response,
    identity: Writing,
    source_type: str,
    source_id: str,
    body: SourcePatch,
    wait: Wait = False,
) -> JobAnswer:
    """Change metadata, readers or graph flag; no text is read or embedded again."""
    change = SourceChange(
        auth_subjects=None if body.auth_subjects is None else checked_subjects(body.auth_subjects),
        metadata=None if body.metadata is None else checked_metadata(body.metadata),
        graph=body.graph,
        clear_graph="graph" in body.model_fields_set and body.graph is None,
    )
    if change == SourceChange():
        raise InvalidInput("nothing to change; give metadata, auth_subjects or graph")
    ref = checked_ref(source_type, source_id)
    run = await state_of(request).platform.sources.update(identity.reader, ref, change)
    return await _answer(request, response, identity, run, wait=wait)


@router.delete(ADDRESS, status_code=202, responses=WAITED | problem_responses(*ALWAYS, "not_found", "run_failed"))
async def delete_source(
    request: Request, response: Response, identity: Writing, source_type: str, source_id: str, wait: Wait = False
) -> JobAnswer:
    """Delete a source with everything that only it said."""
    ref = checked_ref(source_type, source_id)
    run = await state_of(request).platform.sources.delete(identity.reader, ref)
    return await _answer(request, response, identity, run, wait=wait)


async def _answer(request: Request, response: Response, identity: Identity, run: Run, *, wait: bool) -> JobAnswer:
    if wait:
        run = await state_of(request).platform.intake.wait(identity.tenant, run.id)
        if run.state is RunState.FAILED:
            raise RunFailed(run_id=run.id, run_code=run.error_code or "internal", reason=run.error or "see the log")
        if run.state is RunState.CANCELLED:
            raise RunFailed(run_id=run.id, run_code="cancelled", reason="somebody cancelled it")
        response.status_code = 200
    response.headers["Location"] = f"/v1/jobs/{run.id}"
    return JobAnswer(job=Job.of(run))


def _filter(type_: str | None, text: str | None) -> Filter | None:
    """The type and the other conditions together."""
    raw = json_object("filter", text)
    conditions = parse_filter(raw).conditions if raw else ()
    if type_ is not None:
        conditions = (AnyOf("source_type", (clean_text(type_),)), *conditions)
    return Filter(conditions) if conditions else None
