"""Health, readiness, metrics, and what runs here."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.responses import PlainTextResponse

from knotwork.api.auth import Administering, Credentials, identify
from knotwork.api.problems import ALWAYS, problem_responses
from knotwork.api.schemas import HealthAnswer, Info, Part
from knotwork.api.state import state_of
from knotwork.errors import PlatformError
from knotwork.ports.keys import Scope

router = APIRouter(prefix="/v1", tags=["service"])

UNREADY: dict[int | str, dict[str, Any]] = {503: {"model": HealthAnswer, "description": "A store does not answer."}}


@router.get("/health")
async def health(request: Request, credentials: Credentials) -> HealthAnswer:
    """Whether each part answers; 200 also when one does not. Needs no key; one with the scope admin is told more."""
    parts = await state_of(request).platform.health.check()
    detailed = await _may_see_details(request, credentials)
    return HealthAnswer(
        status="ok" if all(part.ok for part in parts.values()) else "degraded",
        parts={name: Part(ok=part.ok, detail=part.detail if detailed else None) for name, part in parts.items()},
    )


@router.get("/ready", responses=UNREADY)
async def ready(request: Request, response: Response, credentials: Credentials) -> HealthAnswer:
    """As health, and 503 while a store does not answer: for a load balancer. Needs no key."""
    answer = await health(request, credentials)
    if answer.status != "ok":
        response.status_code = 503
    return answer


@router.get(
    "/metrics",
    response_class=PlainTextResponse,
    responses=problem_responses(*ALWAYS),
)
async def metrics(request: Request, identity: Administering) -> PlainTextResponse:
    """Prometheus metrics."""
    del identity
    return PlainTextResponse(state_of(request).metrics.text(), media_type="text/plain; version=0.0.4")


@router.get("/info", responses=problem_responses(*ALWAYS))
async def info(request: Request, identity: Administering) -> Info:
    """What runs here, and where it keeps things; for the operator."""
    identity.require_operator()
    platform = state_of(request).platform
    return Info(
        version=version("knotwork"),
        home=str(platform.settings.home.resolve()),
        embedder=platform.embedder.id,
        extractor=platform.extractor,
        modes=list(platform.retrieval.modes),
        browser_url=platform.browser.url if platform.browser else None,
        log=str((platform.settings.home / "logs" / "service.log").resolve()),
    )


async def _may_see_details(request: Request, credentials: Credentials) -> bool:
    if credentials is None:
        return False
    try:
        (await identify(request, credentials)).caller.require(Scope.ADMIN)
    except PlatformError:  # health is told to everybody, also with a wrong key or while the keys cannot be read
        return False
    return True
