"""The REST application over a platform."""

from __future__ import annotations

from importlib.metadata import version

from fastapi import FastAPI

from knotwork.api import (
    chunks,
    exports,
    failures,
    graph,
    health,
    jobs,
    keys,
    operations,
    paths,
    query,
    skill_graphs,
    sources,
    tenants,
    traversals,
    upkeep,
    usage,
)
from knotwork.api.docs import add_docs
from knotwork.api.limits import Limits
from knotwork.api.metrics import Metrics
from knotwork.api.observe import Observe
from knotwork.api.problems import add_handlers
from knotwork.api.state import State
from knotwork.bootstrap import Platform

MB = 1024 * 1024

DESCRIPTION = """Answers that no single passage holds, each with its evidence.

Until there is an API key, whoever calls from this machine is the operator; `POST /v1/keys` makes the first key, and
from then on, also when it is gone, every call needs one (`Authorization: Bearer kw_...`). Errors are problem details
(RFC 9457) with a stable `code`. In an address, encode ids as any path segment; write `.` and `..` as segments of a
source id as `%2E`.
"""


def create_app(platform: Platform, *, operator_token: str) -> FastAPI:
    """The application; whoever opened the platform closes it.

    Args:
        platform: What is served.
        operator_token: The secret that makes a local caller the operator when API keys exist.
    """
    app = FastAPI(
        title="Knotwork",
        version=version("knotwork"),
        description=DESCRIPTION,
        openapi_url="/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # a trailing slash is part of a source's id
    )
    metrics = Metrics(lambda: platform.intake.counts)
    app.state.knotwork = State(platform, operator_token, metrics)
    for module in (sources, jobs, failures, upkeep, query, chunks, graph, tenants, exports, operations, keys, health):
        app.include_router(module.router)
    for module in (paths, traversals, skill_graphs, usage):
        app.include_router(module.router)
    add_docs(app)
    add_handlers(app)
    settings = platform.settings
    app.add_middleware(
        Limits,
        upload_bytes=settings.upload_mb * MB,
        import_bytes=settings.import_mb * MB,
        timeout_s=settings.request_timeout_s,
    )
    app.add_middleware(Observe, metrics=metrics)
    return app
