"""Errors as problem details (RFC 9457): one table from `code` to status, one shape for all."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response

from knotwork.domain.normalise import clean_text
from knotwork.errors import PlatformError, QuotaExceeded

log = structlog.get_logger(__name__)

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_S = 5
MAX_DETAIL_CHARS = 2000  # a message may quote what was sent

STATUS: Mapping[str, int] = {
    "invalid_input": 400,
    "invalid_ranking": 500,
    "not_authenticated": 401,
    "not_allowed": 403,
    "unknown_tenant": 404,
    "not_found": 404,
    "ambiguous_name": 409,
    "traversal_refused": 422,
    "every_source_needed": 403,
    "limit_reached": 422,
    "quota_exceeded": 429,
    "unsupported_document": 415,
    "run_failed": 422,
    "mode_not_configured": 422,
    "option_not_configured": 422,
    "provenance_missing": 500,
    "dimension_mismatch": 500,
    "setup_failed": 503,
    "model_failed": 503,
    "model_refused": 502,
    "store_unavailable": 503,
    "export_damaged": 400,
    "tenant_not_empty": 409,
    "maintenance_under_way": 409,
    "import_differs": 500,
    "text_missing": 500,
    "written_meanwhile": 503,
    "invalid_declaration": 422,
    "invalid_skill_graph": 422,
    "unknown_skill": 422,
    "jump_refused": 422,
    "predicate_failed": 422,
    "scoring_failed": 502,
    "internal": 500,
    # of the transport
    "method_not_allowed": 405,
    "upload_stalled": 408,
    "upload_too_large": 413,
    "timed_out": 504,
}


class Problem(BaseModel):
    """What went wrong and what to do (RFC 9457). `code` is stable; an error's own facts follow as further members."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "example": {
                "type": "urn:knotwork:problem:not_found",
                "title": "Not Found",
                "status": 404,
                "code": "not_found",
                "detail": "no source named 'handbook.md' that you may see",
                "kind": "source",
                "name": "handbook.md",
            }
        },
    )
    type: str = Field(description="`urn:knotwork:problem:` and the code.")
    title: str
    status: int
    code: str
    detail: str


class TransportError(HTTPException):
    """A failure of the request itself, with a code. An HTTPException, so that FastAPI's body reading lets it pass."""

    def __init__(self, code: str, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(STATUS[code], detail, headers)
        self.code = code


def problem(code: str, detail: str, headers: Mapping[str, str] | None = None, **members: object) -> Response:
    """A problem as a response."""
    status = STATUS[code]
    body = {
        "type": f"urn:knotwork:problem:{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "code": code,
        "detail": detail[:MAX_DETAIL_CHARS],
        **members,
    }
    # Plain ASCII: a detail may quote text that UTF-8 cannot encode.
    return Response(json.dumps(body, default=str), status, headers, media_type=MEDIA_TYPE)


def problem_of(error: PlatformError) -> Response:
    """An error raised on purpose, with its attributes as members."""
    headers: dict[str, str] = {}
    if STATUS[error.code] == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    if STATUS[error.code] == HTTPStatus.SERVICE_UNAVAILABLE:
        headers["Retry-After"] = str(RETRY_AFTER_S)
    if isinstance(error, QuotaExceeded):
        headers["Retry-After"] = str(error.retry_after_s)
    return problem(error.code, str(error), headers, **vars(error))


def problem_responses(*codes: str) -> dict[int | str, dict[str, Any]]:
    """The documentation of the problems that a route may answer with."""
    by_status: dict[int | str, list[str]] = {}
    for code in codes:
        by_status.setdefault(STATUS[code], []).append(code)
    return {
        status: {
            "description": " or ".join(f"`{code}`" for code in sorted(group)),
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for status, group in by_status.items()
    }


ALWAYS = (
    "invalid_input",
    "not_authenticated",
    "not_allowed",
    "unknown_tenant",
    "store_unavailable",
    "timed_out",
    "internal",
)


def add_handlers(app: FastAPI) -> None:
    """Answer every error of this application with a problem."""
    app.add_exception_handler(PlatformError, _on_platform_error)
    app.add_exception_handler(RequestValidationError, _on_validation_error)
    app.add_exception_handler(HTTPException, _on_http_exception)


async def _on_platform_error(request: Request, error: Exception) -> Response:
    if not isinstance(error, PlatformError):
        raise error
    if STATUS[error.code] == HTTPStatus.INTERNAL_SERVER_ERROR:
        log.error("request_failed", code=error.code, path=request.scope["path"], exc_info=error)
    return problem_of(error)


async def _on_validation_error(request: Request, error: Exception) -> Response:
    del request
    if not isinstance(error, RequestValidationError):
        raise error
    # Where and what, never the value itself: it may be large, secret, or no JSON.
    errors = [{"where": _where(one["loc"]), "message": clean_text(one["msg"])} for one in error.errors()]
    detail = "; ".join(f"{one['where']}: {one['message']}" for one in errors[:5])
    return problem("invalid_input", detail, errors=errors[:50])


def _where(location: Sequence[object]) -> str:
    return ".".join(clean_text(str(part))[:100] for part in location)


async def _on_http_exception(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    if isinstance(error, TransportError):
        return problem(error.code, error.detail, error.headers)
    if error.status_code == HTTPStatus.NOT_FOUND:
        return problem("not_found", f"there is no {request.scope['path'][:200]!r}; see /docs")
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        return problem("method_not_allowed", f"{request.method} is not for this address; see /docs", error.headers)
    return problem("invalid_input", str(error.detail), error.headers)
