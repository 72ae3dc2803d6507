"""Hostile questions in every mode: an answer or a clear refusal, in bounded time."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any

import httpx
import pytest
import pytest_asyncio

from integration.api.conftest import Api, Running, facts
from knotwork.domain.retrieval import MAX_QUERY_BYTES, Mode

pytestmark = pytest.mark.neo4j

FITTING = {
    "lucene": 'title:(retry~2 AND "budget"^4) OR body:[* TO *] NOT -id:/a.*b/ && (x || y) \\',
    "unbalanced": '")]}((([[[{{{"\'`',
    "cypher": "'}) MATCH (n) DETACH DELETE n //",
    "cypher parameters": "$tenant {0} ${x} RETURN 1; CALL db.labels() LOAD CSV FROM 'file:///etc/passwd' AS l",
    "filter": '{"$or": [{"tenant": "*"}]} metadata.x == null',
    "template": "{{7*7}} ${7*7} #{7*7} %s %n {0}",
    "dots and slashes": "../../etc/passwd . .. //",
    "punctuation": "?!.,;:-_/()[]{}<>|\\~^*&%$#@+=\"'`",
    "emoji": "🙂👩‍👩‍👧‍👦🏳️‍🌈🇺🇳 payouts 🙂",
    "right to left": "من يملك ميزانية إعادة المحاولة؟ \u202eabc\u202c מי בכוננות",
    "null bytes": "retry\x00budget\x00",
    "lone surrogates": "\ud800retry\udfff \udc00\ud800",
    "controls": "retry\x07\x1b[31mbudget\x85\u2028\u2029\r\n\t",
    "one word of 8 KB": "a" * MAX_QUERY_BYTES,
    "one identifier of 8 KB": "a_B2-" * (MAX_QUERY_BYTES // 5),
    "distinct words": " ".join(f"w{number:x}" for number in range(1900))[:MAX_QUERY_BYTES],
    "distinct characters": "".join(chr(0x4E00 + number) for number in range(MAX_QUERY_BYTES // 3)),
    "one character over and over": "文" * (MAX_QUERY_BYTES // 3),
    "a name over and over": "Wolverton " * (MAX_QUERY_BYTES // 10),
    "combining marks": "e" + "\u0301" * 4000,
    "combining marks without a letter": "\u0301" * 4000,
    "joiners": "\u200d\u200c\u2060\ufeff" * 500,
    "unassigned and private": "\U000e0080\ue000\uffff\U0010ffff retry",
    "ligature": "\ufdfa" * 2000,  # one character that decomposes into eighteen
    "digits of every script": "١٢٣ १२३ 一二三 ⅷ ② 𝟘",
    "nothing but white space within": "retry" + " \t\n" * 2000 + "budget",
}
REFUSED = {
    "empty": "",
    "blank": " \t\n\u3000",
    "null bytes alone": "\x00\x00",
    "100 KB": "a" * 100_000,
    "100 KB of words": "retry " * 17_000,
    "one byte too long": "a" * (MAX_QUERY_BYTES + 1),
    "too long in bytes alone": "文" * (MAX_QUERY_BYTES // 3 + 1),
}


@pytest_asyncio.fixture(scope="module")
async def filled(running: Running, http: httpx.AsyncClient) -> Api:
    """A document with a graph and another, so that every mode has something to go through; all modes are warm."""
    api = Api(http, "hostile", Authorization=f"Bearer {running.service.operator_token}")
    assert (await api("PUT", "/tenants/hostile", json={})).status_code == 200
    text = "Wolverton owns the retry budget."
    running.extractor.answers[text] = facts(("Wolverton", "owns", "retry budget"))
    await api.put("teams.md", text, title="Teams")
    await api.put("payouts.md", "# Payouts\n\nPayouts 🙂 of vendors, 文 and ١٢٣.", media_type="text/markdown")
    await ask_everywhere(api, "Wolverton")  # plans of statements are made at their first use, in seconds when busy
    return api


async def ask_everywhere(api: Api, text: str) -> dict[Mode, httpx.Response]:
    """The answers of all modes, asked at once; the service itself ends a query that takes 10 s.

    On a busy machine Neo4j may need that long to plan a statement, which it does once: who was timed out asks again,
    alone, and a second time-out is the question's own.
    """

    async def ask(mode: Mode) -> httpx.Response:
        return await api("POST", "/query", json={"query": text, "mode": mode, "explain": True})

    answers = dict(zip(Mode, await asyncio.gather(*map(ask, Mode)), strict=True))
    for mode, answer in answers.items():
        if answer.status_code == HTTPStatus.GATEWAY_TIMEOUT:
            answers[mode] = await ask(mode)
    return answers


@pytest.mark.parametrize("text", FITTING.values(), ids=FITTING)
async def test_a_hostile_question_is_answered_or_clearly_refused_in_every_mode(filled: Api, text: str) -> None:
    wired = {Mode(mode) for mode in (await filled("GET", "/info")).json()["modes"]}
    assert wired >= {Mode.SEMANTIC, Mode.KEYWORD, Mode.HYBRID, Mode.NAVIGATE, Mode.LOCAL}
    answers = await ask_everywhere(filled, text)
    for mode, answer in answers.items():
        if mode not in wired:
            assert (answer.status_code, answer.json()["code"]) == (422, "mode_not_configured"), (mode, answer.text)
        elif answer.status_code != 200:
            assert 400 <= answer.status_code < 500, (mode, answer.text)
            assert answer.headers["content-type"] == "application/problem+json"
            assert answer.json()["detail"]
        else:
            assert {passage["source"]["id"] for passage in answer.json()["passages"]} <= {"teams.md", "payouts.md"}
    # And the data is as it was: what a question says is never carried out.
    assert (await filled("GET", "/graph/entities")).json()["items"] != []
    assert len(await filled.ask("Wolverton", mode="keyword")) == 1


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
async def test_a_question_that_is_empty_or_too_long_is_refused_in_every_mode(filled: Api, text: str) -> None:
    answers = await ask_everywhere(filled, text)
    wired = set((await filled("GET", "/info")).json()["modes"])
    for mode, answer in answers.items():
        expected = (400, "invalid_input") if mode in wired else (422, "mode_not_configured")
        assert (answer.status_code, answer.json()["code"]) == expected, (mode, answer.text)
        assert answer.json()["detail"]
        assert len(answer.content) < 5_000


@pytest.mark.parametrize("mode", Mode)
async def test_a_mode_or_an_option_that_is_not_wired_says_what_to_configure(filled: Api, mode: Mode) -> None:
    wired = (await filled("GET", "/info")).json()["modes"]
    if mode not in wired:
        answer = await filled("POST", "/query", json={"query": "x", "mode": mode})
        assert (answer.status_code, answer.json()["code"]) == (422, "mode_not_configured")
        assert (answer.json()["mode"], bool(answer.json()["needs"])) == (mode, True)
        return
    answer = await filled("POST", "/query", json={"query": "x", "mode": mode, "rerank": True})
    assert (answer.status_code, answer.json()["code"]) == (422, "option_not_configured")
    assert "KNOTWORK_RERANK_URL" in answer.json()["detail"]


async def test_options_of_a_query_reach_the_mode(filled: Api) -> None:
    body = {"query": "Wolverton owns what", "mode": "hybrid", "weights": {"semantic": 0}, "diversity": 0.5}
    answer = (await filled("POST", "/query", json={**body, "explain": True})).json()
    assert [passage["source"]["id"] for passage in answer["passages"]] == ["teams.md"]
    assert answer["explanation"]["diversity"]["diversity"] == 0.5
    navigated = (await filled("POST", "/query", json={"query": "payouts", "mode": "navigate", "explain": True})).json()
    assert navigated["passages"][0]["metadata"]["document"]["id"] == "payouts.md"
    assert navigated["explanation"]["documents"][0]["headings"] == ["Payouts"]


@pytest.mark.parametrize(
    "options",
    [
        {"diversity": 1.5},
        {"diversity": -1},
        {"diversity": "much"},
        {"mode": "hybrid", "weights": {"semantic": 0, "keyword": 0}},
        {"mode": "hybrid", "weights": {"semantic": -1}},
        {"mode": "hybrid", "weights": {"dense": 1}},
        {"mode": "keyword", "weights": {"semantic": 1}},
        {"rerank": "yes, please"},
    ],
)
async def test_an_option_out_of_its_bounds_is_refused(filled: Api, options: dict[str, Any]) -> None:
    answer = await filled("POST", "/query", json={"query": "x", **options})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input"), answer.text
