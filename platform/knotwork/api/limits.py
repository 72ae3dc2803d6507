"""Limits of size and time, kept for every request before a route sees it."""

from __future__ import annotations

import asyncio
import contextlib

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from knotwork.api.problems import TransportError, problem

MAX_BODY_BYTES = 1024 * 1024  # of everything but an upload
FORM_BYTES = 256 * 1024  # what metadata and the form around a file may add to it
DRAIN_BYTES, DRAIN_S = 256 * 1024 * 1024, 5.0  # of a body that is too large, before it is answered
UPLOADS = "/v1/sources/"
EXPORT, IMPORT = "/v1/export", "/v1/import"  # as long as a tenant is large
EVENTS = "/events"


class Limits:
    """Counts bodies while they stream in, ends uploads that stall, and requests that take too long."""

    def __init__(self, app: ASGIApp, *, upload_bytes: int, import_bytes: int, timeout_s: float) -> None:
        self._app, self._timeout_s = app, timeout_s
        self._upload_bytes, self._import_bytes = upload_bytes, import_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path: str = scope["path"]
        body = _Body(receive, self._limit(scope["method"], path), self._timeout_s, scope)
        # A job may be waited for; an export is sent when it is complete.
        if path.endswith(EVENTS) or path.startswith(UPLOADS) or path in {EXPORT, IMPORT}:
            await self._app(scope, body.receive, send)
            return
        is_answered = False

        async def send_on(message: Message) -> None:
            nonlocal is_answered
            is_answered = True
            await send(message)

        try:
            async with asyncio.timeout(self._timeout_s):
                await self._app(scope, body.receive, send_on)
        except TimeoutError:
            if is_answered:
                raise
            detail = f"no answer within {self._timeout_s:g} s; ask for less, or raise KNOTWORK_REQUEST_TIMEOUT_S"
            await problem("timed_out", detail)(scope, receive, send)

    def _limit(self, method: str, path: str) -> int:
        """The size of this request's body, at most."""
        if method == "PUT" and path.startswith(UPLOADS):
            return self._upload_bytes + FORM_BYTES
        if method == "POST" and path == IMPORT:
            return self._import_bytes
        return MAX_BODY_BYTES


class _Body:
    """A request's body on its way in."""

    def __init__(self, receive: Receive, limit: int, timeout_s: float, scope: Scope) -> None:
        self._receive, self._limit, self._timeout_s = receive, limit, timeout_s
        self._read = 0
        self._declared, self._asks_first = _declared_length(scope), _asks_first(scope)
        self._is_complete = False

    async def receive(self) -> Message:
        if self._declared is not None and self._declared > self._limit:
            raise await self._too_large()
        if self._is_complete:
            return await self._receive()
        try:
            async with asyncio.timeout(self._timeout_s):
                message = await self._receive()
        except TimeoutError as error:
            raise TransportError(
                "upload_stalled", f"nothing came in for {self._timeout_s:g} s", {"Connection": "close"}
            ) from error
        self._read += len(message.get("body", b""))
        self._is_complete = not message.get("more_body", False)
        if self._read > self._limit:
            raise await self._too_large()
        return message

    async def _too_large(self) -> TransportError:
        await self._drain()
        detail = f"the body is larger than {self._limit / 2**20:.1f} MB; see KNOTWORK_UPLOAD_MB and KNOTWORK_IMPORT_MB"
        return TransportError("upload_too_large", detail, {"Connection": "close"})

    async def _drain(self) -> None:
        """Let go of some more of the body: a client that is still sending when the connection ends sees no answer."""
        drained = 0
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_S):
                while not self._is_complete and not self._asks_first and drained < DRAIN_BYTES:
                    message = await self._receive()
                    drained += len(message.get("body", b""))
                    self._is_complete = not message.get("more_body", False)


def _asks_first(scope: Scope) -> bool:
    """Whether the client waits for our word before it sends the body."""
    return any(name == b"expect" for name, _ in scope["headers"])


def _declared_length(scope: Scope) -> int | None:
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return int(value)
    return None
