"""The outermost layer: times and logs each request, and answers for errors that nobody expected."""

from __future__ import annotations

import time

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from knotwork.api.metrics import Metrics
from knotwork.api.problems import problem

log = structlog.get_logger(__name__)

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
NO_ROUTE = "unmatched"  # one label for all addresses that are none of ours


class Observe:
    """Logs method, route template, status, milliseconds and tenant of each request; no address, header or body."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.monotonic()
        status = 0

        async def send_on(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, send_on)
        except Exception:  # the last resort: named in the log, told to nobody
            log.exception("request_failed", code="internal", route=_route(scope))
            if status == 0:
                await problem("internal", "something unexpected failed; the service's log says what")(
                    scope, receive, send_on
                )
        finally:
            seconds = time.monotonic() - started
            method = scope["method"] if scope["method"] in METHODS else "other"
            self._metrics.count(method, _route(scope), status, seconds)
            log.info(
                "request",
                method=method,
                route=_route(scope),
                status=status,
                ms=round(seconds * 1000, 1),
                tenant=scope.get("state", {}).get("tenant"),
            )


def _route(scope: Scope) -> str:
    return getattr(scope.get("route"), "path", NO_ROUTE)
