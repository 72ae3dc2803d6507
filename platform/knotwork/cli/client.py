"""The service's REST interface, as commands use it."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from types import TracebackType
from typing import Any, Self, cast
from urllib.parse import quote

import httpx

TIMEOUT_S = 90.0  # above the service's own limit of a query, so that its answer arrives
UPLOAD_TIMEOUT_S = 600.0  # a large document waits its turn to be parsed before it is accepted
CONNECTIONS = 160
EVENT_SILENCE_S = 60.0  # the service sends a comment every 15 s
PAGE = 100
DOTS = {".": "%2E", "..": "%2E%2E"}
OVER = ("done", "failed", "cancelled")
CLEAN_UP_S = 30.0  # that the service gets to take back what was interrupted, before we leave

Json = dict[str, Any]


class Refused(Exception):
    """The service's answer was no: its problem details (RFC 9457)."""

    def __init__(self, *, code: str, message: str, status: int) -> None:
        super().__init__(message)
        self.code, self.status = code, status


class Unreachable(Exception):
    """The service did not answer, or stopped in the middle of an answer."""

    code = "unreachable"


def quoted(id_: str) -> str:
    """An id as it stands in a path: each segment percent-encoded, `/` kept, and no segment that clients resolve."""
    return "/".join(DOTS.get(segment) or quote(segment, safe="") for segment in id_.split("/"))


def source_path(type_: str, id_: str) -> str:
    """The address of a source."""
    return f"/sources/{quoted(type_)}/{quoted(id_)}"


class Client:
    """Speaks for one tenant; an asynchronous context manager. A failed call raises Refused or Unreachable."""

    def __init__(self, url: str, *, token: str, tenant: str) -> None:
        # The environment's proxies are for the network outside, never for our own service.
        self._http = httpx.AsyncClient(
            base_url=url,
            headers={"Authorization": f"Bearer {token}", "Knotwork-Tenant": tenant},
            timeout=TIMEOUT_S,
            limits=httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS),
            trust_env=False,
        )
        self._tenant = tenant

    @property
    def tenant(self) -> str:
        return self._tenant

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.aclose()

    async def get(self, path: str, **params: str | int | None) -> Json:
        return await self._json(
            "GET", path, params={name: value for name, value in params.items() if value is not None}
        )

    async def post(self, path: str, body: object) -> Json:
        return await self._json("POST", path, json=body)

    async def put(self, path: str, body: object) -> Json:
        return await self._json("PUT", path, json=body, timeout=UPLOAD_TIMEOUT_S)

    async def delete(self, path: str) -> Json:
        return await self._json("DELETE", path)

    async def pages(self, path: str, **params: str | int | None) -> AsyncIterator[Json]:
        """Every item of a list, page after page."""
        after: str | None = None
        while True:
            page = await self.get(path, after=after, limit=PAGE, **params)
            for item in cast("list[Json]", page["items"]):
                yield item
            after = page.get("next")
            if after is None:
                return

    async def put_text(self, type_: str, id_: str, body: Json) -> Json:
        """Send a source as text; returns the job that indexes it."""
        return (await self.put(source_path(type_, id_), body))["job"]

    async def put_file(self, type_: str, id_: str, *, name: str, data: bytes, fields: Mapping[str, str]) -> Json:
        """Send a source as a file of this name; returns the job that indexes it.

        Args:
            type_: The source's type.
            id_: The source's id.
            name: Its ending tells the format.
            data: The file as it is.
            fields: Form fields: metadata, auth_subjects, graph, title.
        """
        file = (name, data, "application/octet-stream")
        return (
            await self._json(
                "PUT", source_path(type_, id_), files={"file": file}, data=dict(fields), timeout=UPLOAD_TIMEOUT_S
            )
        )["job"]

    async def delete_source(self, type_: str, id_: str) -> None:
        """Delete a source; it is gone when this returns."""
        job = await self.finished((await self.delete(source_path(type_, id_)))["job"]["id"])
        if job["state"] == "failed":
            raise Refused(code=job["error"]["code"], message=job["error"]["message"], status=422)
        if job["state"] == "cancelled":
            raise Refused(code="cancelled", message=f"somebody cancelled the job that deletes {id_}", status=422)

    async def finished(self, job_id: str, on_progress: Callable[[Json], None] | None = None) -> Json:
        """The job once it is over, done or failed. A broken stream of events is taken up again.

        Args:
            job_id: The job.
            on_progress: Called with {state, step, chunks_done, chunks_total} at each change.
        """
        return await self._over(f"/jobs/{quoted(job_id)}", on_progress)

    async def operation(self, operation: Json, on_progress: Callable[[Json], None]) -> Json:
        """The result of an operation on the stores once it is done. Interrupted, it is cancelled if it can be.

        Args:
            operation: As the service answered when it began.
            on_progress: Called with {state, step, done, total} at each change.
        """
        path = f"/operations/{quoted(operation['id'])}"
        try:
            over = await self._over(path, on_progress)
        except asyncio.CancelledError:
            with contextlib.suppress(Refused, Unreachable, TimeoutError):
                async with asyncio.timeout(CLEAN_UP_S):
                    await self.delete(path)
            raise
        if over["state"] == "failed":
            raise Refused(code=over["error"]["code"], message=over["error"]["message"], status=422)
        if over["state"] == "cancelled":
            raise Refused(code="cancelled", message="somebody cancelled it", status=422)
        return cast("Json", over["result"])

    async def download(self, path: str, **params: str) -> AsyncGenerator[tuple[bytes, int]]:
        """A file in parts, each with the size of the whole; the first comes when the file is complete."""
        timeout = httpx.Timeout(TIMEOUT_S, read=None)
        try:
            async with self._http.stream("GET", f"/v1{path}", params=params, timeout=timeout) as response:
                if response.status_code >= httpx.codes.BAD_REQUEST:
                    await response.aread()
                    raise refusal(response)
                total = int(response.headers["Content-Length"])
                async for part in response.aiter_bytes():
                    yield part, total
        except httpx.HTTPError as error:
            raise self._unreachable(error) from error

    async def upload(self, path: str, parts: AsyncIterator[bytes]) -> Json:
        """Send a body in parts."""
        timeout = httpx.Timeout(UPLOAD_TIMEOUT_S)
        return await self._json(
            "POST", path, content=parts, headers={"Content-Type": "application/x-ndjson"}, timeout=timeout
        )

    async def _over(self, path: str, on_progress: Callable[[Json], None] | None) -> Json:
        """What is at this address once it is over."""
        while True:
            try:
                async for event, data in self._events(f"{path}/events"):
                    if event == "done":
                        return data
                    if event == "progress" and on_progress is not None:
                        on_progress(data)
            except httpx.HTTPError:
                pass  # it goes on without a listener; whether the service does is seen below
            found = await self.get(path)
            if found["state"] in OVER:
                return found
            await asyncio.sleep(0.5)

    async def _events(self, path: str) -> AsyncGenerator[tuple[str, Json]]:
        """Server-sent events (WHATWG HTML, section 9.2), their data being one line of JSON."""
        timeout = httpx.Timeout(TIMEOUT_S, read=EVENT_SILENCE_S)
        async with self._http.stream("GET", f"/v1{path}", timeout=timeout) as response:
            if response.status_code >= httpx.codes.BAD_REQUEST:
                await response.aread()
                raise refusal(response)
            event = "message"
            async for line in response.aiter_lines():
                if line.startswith("event:"):
                    event = line.removeprefix("event:").strip()
                elif line.startswith("data:"):
                    yield event, json.loads(line.removeprefix("data:"))

    async def _json(self, method: str, path: str, **request: Any) -> Json:
        try:
            response = await self._http.request(method, f"/v1{path}", **request)
        except httpx.HTTPError as error:
            raise self._unreachable(error) from error
        if response.status_code >= httpx.codes.BAD_REQUEST:
            raise refusal(response)
        return cast("Json", response.json()) if response.content else {}

    def _unreachable(self, error: httpx.HTTPError) -> Unreachable:
        return Unreachable(
            f"the service at {self._http.base_url} does not answer ({type(error).__name__} {error}); "
            "see `knotwork status`, and the log it names"
        )


def refusal(response: httpx.Response) -> Refused:
    """The error that a problem document, or a plain failure, stands for."""
    try:
        problem = cast("object", response.json())
    except ValueError:
        problem = None
    if not isinstance(problem, dict):
        return Refused(
            code="internal",
            message=f"the service answered {response.status_code}; see its log",
            status=response.status_code,
        )
    details = cast("Json", problem)
    message = str(details.get("detail") or details.get("title") or response.reason_phrase)
    return Refused(code=str(details.get("code", "internal")), message=message, status=response.status_code)
