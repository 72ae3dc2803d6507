"""The reranker against a real HTTP server that behaves well, badly, and in each of the usual shapes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from typing import Any

import pytest
from starlette.responses import JSONResponse, Response

from knotwork.adapters.models.http_reranker import HttpReranker
from knotwork.adapters.models.openai_http import OpenAIEndpoint
from knotwork.errors import ModelFailed, ModelRefused
from support.fake_model_server import (
    FakeModelServer,
    Json,
    fails,
    failure,
    hangs,
    raw,
    serving,
    trickles,
    word_shares,
)

QUESTION = "retry budget"
TEXTS = ["lunch at noon", "the retry budget", "a retry button"]
SCORES = [0.0, 1.0, 0.5]


@pytest.fixture(scope="module")
def running() -> Iterator[FakeModelServer]:
    with serving() as server:
        yield server


@pytest.fixture
def server(running: FakeModelServer) -> FakeModelServer:
    running.requests.clear()
    running.next_answers.clear()
    running.always = None
    return running


@pytest.fixture
async def reranker(server: FakeModelServer) -> AsyncGenerator[HttpReranker]:
    endpoint = OpenAIEndpoint(server.url, api_key="s3cret", timeout_s=0.5, attempts=2, backoff_s=0.01)
    yield HttpReranker(endpoint, path="rerank", model="m")
    await endpoint.close()


def rows(body: Json, score: str = "relevance_score") -> list[dict[str, Any]]:
    texts = body.get("documents") or body["texts"]
    return [{"index": index, score: value} for index, value in enumerate(word_shares(body["query"], texts))]


async def test_scores_come_in_the_order_of_the_texts_with_the_tokens_counted(
    server: FakeModelServer, reranker: HttpReranker
) -> None:
    answer = await reranker.rerank(QUESTION, TEXTS)
    assert list(answer.scores) == SCORES
    assert answer.usage.input_tokens == 21
    assert server.requests[0].path == "/v1/rerank"
    assert server.requests[0].headers["authorization"] == "Bearer s3cret"
    assert server.bodies() == [{"query": QUESTION, "documents": TEXTS, "model": "m"}]


async def test_nothing_to_score_asks_nobody(server: FakeModelServer, reranker: HttpReranker) -> None:
    assert list((await reranker.rerank(QUESTION, [])).scores) == []
    assert server.requests == []


async def test_the_shape_of_voyage_and_the_tokens_of_cohere_are_read(
    server: FakeModelServer, reranker: HttpReranker
) -> None:
    server.always = lambda body: JSONResponse({"data": rows(body), "meta": {"tokens": {"input_tokens": 5}}})
    answer = await reranker.rerank(QUESTION, TEXTS)
    assert (list(answer.scores), answer.usage.input_tokens) == (SCORES, 5)


async def test_an_endpoint_that_wants_texts_is_asked_so_from_then_on(
    server: FakeModelServer, reranker: HttpReranker
) -> None:
    def tei(body: Json) -> Response:
        if "texts" not in body:
            return failure(422, "missing field `texts`")
        return JSONResponse(rows(body, "score"))

    server.always = tei
    for _ in range(2):
        assert list((await reranker.rerank(QUESTION, TEXTS)).scores) == SCORES
    assert ["texts" in body for body in server.bodies()] == [False, True, True]


@pytest.mark.parametrize(
    "answer",
    [
        raw("<html>"),
        raw("null"),
        raw('{"results": "none"}'),
        raw('{"results": []}'),
        raw('{"results": [{"index": 0, "relevance_score": 1}]}'),
        raw('[{"index": 0, "score": 1}, {"index": 0, "score": 1}, {"index": 1, "score": 1}]'),
        raw('[{"index": 0, "score": 1}, {"index": 1, "score": 1}, {"index": 7, "score": 1}]'),
        raw('[{"index": 0, "score": NaN}, {"index": 1, "score": 1}, {"index": 2, "score": 1}]'),
        raw('[{"index": 0, "score": "high"}, {"index": 1, "score": 1}, {"index": 2, "score": 1}]'),
        raw("[1, 2, 3]"),
        fails(500),
        fails(429),
        hangs,
        trickles,
    ],
)
async def test_an_answer_that_cannot_be_used_is_asked_for_again_then_fails(
    server: FakeModelServer, reranker: HttpReranker, answer: Any
) -> None:
    server.next_answers.extend([answer])
    assert list((await reranker.rerank(QUESTION, TEXTS)).scores) == SCORES
    server.next_answers.extend([answer, answer])
    with pytest.raises(ModelFailed):
        await reranker.rerank(QUESTION, TEXTS)


@pytest.mark.parametrize("status", [400, 401, 404, 422])
async def test_a_refusal_is_final_and_never_tells_the_key(
    server: FakeModelServer, reranker: HttpReranker, status: int
) -> None:
    server.always = fails(status, "no such model, s3cret")
    with pytest.raises(ModelRefused) as refused:
        await reranker.rerank(QUESTION, TEXTS)
    assert str(status) in str(refused.value)
    assert "s3cret" not in str(refused.value)


async def test_long_and_broken_texts_are_made_fit_to_send(server: FakeModelServer, reranker: HttpReranker) -> None:
    await reranker.rerank("\ud800 retry", ["x" * 100_000, "\ud800"])
    sent = server.bodies()[0]
    assert sent["query"] == "\ufffd retry"
    assert [len(text) for text in sent["documents"]] == [8_000, 1]
