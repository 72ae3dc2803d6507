"""A tenant as a file, and back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import aclosing
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse
from starlette.requests import ClientDisconnect

from knotwork.api.auth import Administering
from knotwork.api.operation_schemas import OperationAnswer
from knotwork.api.operations import STARTS, answer, whole_tenant
from knotwork.api.problems import ALWAYS, problem_responses
from knotwork.api.spool import PART_BYTES, Download, Spool
from knotwork.api.state import state_of
from knotwork.bootstrap import Platform
from knotwork.domain.cypher_script import cypher_script
from knotwork.domain.export import from_line, settings_of
from knotwork.domain.export_reading import extent
from knotwork.domain.graphml import graphml
from knotwork.domain.model import TenantId
from knotwork.errors import InvalidInput
from knotwork.services.export import Tell
from knotwork.services.maintenance import OperationKind
from knotwork.services.restore import ImportResult
from knotwork.services.tenants import require_name

router = APIRouter(prefix="/v1", tags=["maintenance"])

NDJSON = "application/x-ndjson"
MOST_LINE_BYTES = 1024 * 1024 * 1024  # a longer line is cut, and so is no line of an export
LOOK_S = 1.0  # how often it is seen whether the caller is still there


class ExportFormat(StrEnum):
    JSONL = "jsonl"
    VECTORS = "vectors"
    GRAPHML = "graphml"
    CYPHER = "cypher"


Convert = Callable[[Iterable[bytes]], Iterator[str]]

MEDIA_TYPES: Mapping[ExportFormat, str] = {
    ExportFormat.JSONL: NDJSON,
    ExportFormat.VECTORS: NDJSON,
    ExportFormat.GRAPHML: "application/xml",
    ExportFormat.CYPHER: "text/plain; charset=utf-8",
}
CONVERT: Mapping[ExportFormat, Convert] = {ExportFormat.GRAPHML: graphml, ExportFormat.CYPHER: cypher_script}

BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            media: {"schema": {"type": "string", "format": "binary"}} for media in (NDJSON, "application/octet-stream")
        },
    }
}


@router.get(
    "/export",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "The file.",
            "content": {media: {"schema": {"type": "string"}} for media in sorted(set(MEDIA_TYPES.values()))},
        }
    }
    | problem_responses(*ALWAYS, "maintenance_under_way", "text_missing"),
)
async def export_tenant(
    request: Request,
    identity: Administering,
    format_: Annotated[
        ExportFormat, Query(alias="format", description="GraphML and Cypher are for other tools.")
    ] = ExportFormat.JSONL,
) -> Response:
    """Everything the tenant has, as canonical, sorted JSON Lines whose last line names the state by a SHA-256.

    `vectors` is the file beside it, with which an import asks no model. The tenant's jobs wait until the file is
    complete; it is sent after that.
    """
    state, tenant = await whole_tenant(request, identity)
    home, exporter = state.platform.settings.home, state.platform.exporter
    with state.platform.maintenance.alone(OperationKind.EXPORT, tenant):
        is_vectors = format_ is ExportFormat.VECTORS
        lines = exporter.export_vectors(tenant) if is_vectors else exporter.export(tenant)
        spool = await _spooled(request, home, lines)
    if convert := CONVERT.get(format_):
        try:
            converted = await _spooled(request, home, _converted(spool, convert))
        finally:
            spool.close()
        spool = converted
    return Download(spool, media_type=MEDIA_TYPES[format_], file_name=f"{tenant}.{format_.value}")


@router.post(
    "/import",
    status_code=202,
    responses=problem_responses(*STARTS, "tenant_not_empty", "export_damaged"),
    openapi_extra=BODY,
)
async def import_tenant(request: Request, response: Response, identity: Administering) -> OperationAnswer:
    """Store an export in a tenant that is new or empty. The result's `sha256` is that of the export.

    The body is what `GET /v1/export` gave and, after its last line, what it gave as `vectors`; without these, or
    with those of another embedder, texts are embedded again. Damage is found before anything is stored.
    """
    identity.require_whole_tenant()
    state, tenant = state_of(request), identity.tenant
    require_name(tenant)
    platform = state.platform
    spool = Spool(platform.settings.home)
    try:
        try:
            await spool.fill(request.stream())
        except ClientDisconnect as error:
            raise InvalidInput("the upload ended before it was complete") from error
        async with aclosing(spool.lines(0, min(spool.size_bytes, PART_BYTES))) as lines:
            settings_of(from_line(await anext(lines, b"")))  # what is no export at all is refused now
        await platform.importer.require_empty(tenant)
        started = platform.maintenance.start(
            OperationKind.IMPORT, tenant, lambda tell: _import(platform, tenant, spool, tell)
        )
    except BaseException:
        spool.close()
        raise
    return answer(response, started)


async def _import(platform: Platform, tenant: TenantId, spool: Spool, tell: Tell) -> ImportResult:
    try:
        tell("checking the file", 0, 0)
        found = await asyncio.to_thread(extent, _lines(spool))
        vectors = spool.lines(found.export_bytes, found.vector_bytes) if found.vector_bytes else None
        lines = spool.lines(0, found.export_bytes)
        result = await platform.importer.load(tenant, lines, vectors, tell=tell, total=found.sources)
        platform.tenants.know([tenant])
        return result
    finally:
        spool.close()


async def _spooled(request: Request, home: Path, parts: AsyncGenerator[bytes]) -> Spool:
    """All parts on disk. When the caller goes away meanwhile, nothing is left of them."""
    spool = Spool(home)
    try:
        async with aclosing(parts):
            await _while_wanted(request, spool.fill(parts))
    except BaseException:
        spool.close()
        raise
    return spool


async def _converted(spool: Spool, convert: Convert) -> AsyncGenerator[bytes]:
    """A spooled export in another form, made in a thread."""
    pieces = convert(_lines(spool))

    def some() -> bytes:
        part = bytearray()
        for piece in pieces:
            part += piece.encode()
            if len(part) >= PART_BYTES:
                break
        return bytes(part)

    while part := await asyncio.to_thread(some):
        yield part


def _lines(spool: Spool) -> Iterator[bytes]:
    spool.file.seek(0)
    return iter(lambda: spool.file.readline(MOST_LINE_BYTES), b"")


async def _while_wanted(request: Request, work: Coroutine[None, None, None]) -> None:
    """Do the work unless the caller goes away.

    Raises:
        InvalidInput: the caller did.
    """
    task = asyncio.ensure_future(work)
    try:
        while not task.done():
            await asyncio.wait({task}, timeout=LOOK_S)
            if not task.done() and await request.is_disconnected():
                raise InvalidInput("the caller went away before the file was complete")
        task.result()
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
