"""A local HTTP server with OpenAI's two endpoints and a rerank endpoint: well-behaved unless a test says otherwise."""

from __future__ import annotations

import asyncio
import base64
import json
import socket
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from knotwork.adapters.memory.models import HashEmbedder

Json = dict[str, Any]
Behaviour = Callable[[Json], Awaitable[Response] | Response]
EMPTY_ANSWER = '{"entities": [], "relationships": []}'


@dataclass
class Recorded:
    """A request as it came."""

    path: str
    headers: dict[str, str]
    body: Json
    at_s: float


@dataclass
class FakeModelServer:
    """What the server got, and what it answers.

    `next_answers` are used up one a request; then `always` is used if set, else the request is answered well:
    embeddings by HashEmbedder (three times too long, last text first, as the protocol allows), chats by what
    `contents` holds for the chunk's text or the question, rerankings by the share of the query's words in a text.
    """

    url: str = ""
    dimension: int = 8
    requests: list[Recorded] = field(default_factory=list[Recorded])
    next_answers: deque[Behaviour] = field(default_factory=deque[Behaviour])
    always: Behaviour | None = None
    contents: dict[str, str] = field(default_factory=dict[str, str])
    at_once: int = 0
    most_at_once: int = 0

    def bodies(self) -> list[Json]:
        return [request.body for request in self.requests]

    async def handle(self, request: Request) -> Response:
        body = await request.json()
        self.requests.append(Recorded(request.url.path, dict(request.headers), body, time.monotonic()))
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await asyncio.sleep(0.01)
            behaviour = self.next_answers.popleft() if self.next_answers else self.always
            if behaviour is None:
                endpoints = {"embeddings": self.embeddings, "rerank": rerank}
                behaviour = endpoints.get(request.url.path.rpartition("/")[2], self.chat)
            answer = behaviour(body)
            return answer if isinstance(answer, Response) else await answer
        finally:
            self.at_once -= 1

    async def embeddings(self, body: Json) -> Response:
        vectors = (await HashEmbedder(self.dimension).embed(body["input"])).vectors
        rows = [{"index": at, "embedding": [3 * number for number in vector]} for at, vector in enumerate(vectors)]
        return JSONResponse({"data": rows[::-1], "usage": {"prompt_tokens": 2 * len(rows)}})

    def chat(self, body: Json) -> Response:
        asked = json.loads(body["messages"][-1]["content"])
        return completion(self.contents.get(asked.get("text", asked.get("question")), EMPTY_ANSWER))


def rerank(body: Json) -> Response:
    """Rows as Jina answers them, best first, as it sorts them."""
    scores = word_shares(body["query"], body["documents"])
    rows = [{"index": index, "relevance_score": score} for index, score in enumerate(scores)]
    rows.sort(key=lambda row: -row["relevance_score"])
    return JSONResponse({"model": body.get("model"), "results": rows, "usage": {"total_tokens": 7 * len(rows)}})


def word_shares(query: str, texts: list[str]) -> list[float]:
    """For each text, which share of the query's words stands in it."""
    words = query.lower().split()
    return [sum(word in text.lower() for word in words) / len(words) for text in texts]


def completion(content: str | None, *, finish: str = "stop", usage: object = None) -> Response:
    """A chat answer; by default one of 10 + 5 tokens."""
    counts = {"prompt_tokens": 10, "completion_tokens": 5} if usage is None else usage
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": content}}
    return JSONResponse({"choices": [choice], "usage": counts})


def says(content: str | None, *, finish: str = "stop", usage: object = None) -> Behaviour:
    return lambda _body: completion(content, finish=finish, usage=usage)


def failure(status: int, message: str = "told to fail", **headers: str) -> Response:
    """An error answer; an underscore in the name of a header is a hyphen."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return JSONResponse({"error": {"message": message}}, status_code=status, headers=named)


def fails(status: int, message: str = "told to fail", **headers: str) -> Behaviour:
    return lambda _body: failure(status, message, **headers)


def raw(text: str, media_type: str = "application/json") -> Behaviour:
    return lambda _body: Response(text, media_type=media_type)


def embeds(rows: Callable[[int], list[Json]]) -> Behaviour:
    """Answer with `rows(number of texts)`, NaN included, and without usage."""
    return lambda body: Response(json.dumps({"data": rows(len(body["input"]))}), media_type="application/json")


def as_base64(vector: list[float]) -> str:
    return base64.b64encode(np.array(vector, dtype="<f4").tobytes()).decode()


async def hangs(_body: Json) -> Response:
    await asyncio.sleep(30)
    return Response()


def trickles(_body: Json) -> Response:
    """A byte at a time, each within any time-out of a read."""

    async def spaces() -> AsyncIterator[bytes]:
        for _ in range(300):
            yield b" "
            await asyncio.sleep(0.1)

    return StreamingResponse(spaces(), media_type="application/json")


@contextmanager
def serving() -> Generator[FakeModelServer]:
    """Run the server on a free port of the loopback, in a thread, until the block ends."""
    fake = FakeModelServer()
    app = Starlette(routes=[Route("/v1/{path:path}", fake.handle, methods=["POST"])])
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        fake.url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        config = uvicorn.Config(app, log_level="critical", lifespan="off", timeout_graceful_shutdown=1, ws="none")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.005)
        try:
            yield fake
        finally:
            server.should_exit = server.force_exit = True
            thread.join()
