"""Server-sent events (WHATWG HTML, section 9.2): progress as it happens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import TypeVar

from fastapi.responses import StreamingResponse

from knotwork.api.state import State

T = TypeVar("T")

HEARTBEAT_S = 15.0
MEDIA_TYPE = "text/event-stream"


def event_stream(state: State, watching: AsyncGenerator[T], event: Callable[[T], str]) -> StreamingResponse:
    """Each value as an event, with a comment now and then while none comes; it ends with the values or the service."""
    return StreamingResponse(
        _events(state, watching, event),
        media_type=MEDIA_TYPE,
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


def event_text(name: str, data: str) -> str:
    """One event, of data on one line."""
    return f"event: {name}\ndata: {data}\n\n"


async def _events(state: State, watching: AsyncGenerator[T], event: Callable[[T], str]) -> AsyncGenerator[str]:
    stopping = asyncio.ensure_future(state.stopping.wait())
    try:
        while True:
            coming = asyncio.ensure_future(anext(watching, None))
            try:
                while not coming.done():
                    await asyncio.wait({coming, stopping}, timeout=HEARTBEAT_S, return_when=asyncio.FIRST_COMPLETED)
                    if stopping.done():
                        return
                    if not coming.done():
                        yield ": still there\n\n"
            finally:
                if not coming.done():
                    coming.cancel()
                    await asyncio.wait({coming})
            value = coming.result()
            if value is None:
                return
            yield event(value)
    finally:
        stopping.cancel()
        await watching.aclose()
