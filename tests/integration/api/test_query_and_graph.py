"""Questions over REST: passages with their citations, and the graph behind them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from integration.api.conftest import Api, Running, facts

pytestmark = pytest.mark.neo4j

HOSTILE = (
    "causes/solutions",
    "AND OR NOT",
    '"',
    "(",
    "[",
    "~",
    "!",
    "tb-",
    "*",
    "\\",
    "'; DROP",
    "{}",
    "\x00a",
    "\ud800",
    "a\u202eb",
    " ",
    "",
    "x" * 100_000,
    "文" * 3000,
)
MODES = ("semantic", "keyword", "hybrid", "navigate", "local", "global", "paths", "auto")


async def test_a_question_over_two_documents_is_answered_with_numbered_verified_passages(
    api: Api, running: Running
) -> None:
    first, second = "Wolverton owns the retry ledger.", "The retry ledger limits checkout."
    running.extractor.answers[first] = facts(("Wolverton", "owns", "retry ledger"))
    running.extractor.answers[second] = facts(("retry ledger", "limits", "checkout"))
    await api.put("teams.md", first, metadata={"team": "core"})
    await api.put("limits.md", second)
    answer = (await api("POST", "/query", json={"query": "What does Wolverton limit?", "mode": "local"})).json()
    assert answer["mode"] == "local"
    assert [passage["citation"] for passage in answer["passages"]] == [1, 2]
    assert {passage["source"]["id"] for passage in answer["passages"]} == {"teams.md", "limits.md"}
    assert answer["usage"]["input_tokens"] > 0
    for passage in answer["passages"]:
        cited = (await api.cite(passage["id"])).json()
        assert (cited["verified"], cited["text"], cited["source"]) == (True, passage["text"], passage["source"])
        assert cited["metadata"]["start"] == 0


async def test_top_k_floor_and_filter_hold(api: Api) -> None:
    for number in range(4):
        await api.put(f"{number}.md", f"Herons number {number} wait.", metadata={"n": number})
    assert len(await api.ask("herons", top_k=2)) == 2
    assert await api.ask("herons", mode="semantic", min_score=1.0) == []
    found = await api.ask("herons", filter={"n": {"gte": 1, "lte": 2}, "source_type": "document"})
    assert sorted(passage["source"]["id"] for passage in found) == ["1.md", "2.md"]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"query": "x", "top_k": 0},
        {"query": "x", "top_k": 201},
        {"query": "x", "mode": "magic"},
        {"query": "x", "min_score": "NaN"},
        {"query": "x", "filter": {"a b": 1}},
        {"query": "x", "filter": {"n": {"like": 1}}},
        {"query": "x", "filter": {"n": {"gte": 1, "lte": "b"}}},
        {"query": "x", "filter": {"n": {"gte": 10**30}}},
        {"query": "x", "filter": {"n": 10**30}},
        {"query": "x", "filter": {"n": None}},
        {"query": "x", "filter": {"n": [[1]]}},
        {"query": "x", "filter": {"\ud800": 1}},
        {"query": "x", "colour": "red"},
        {"query": 42},
        ["query"],
    ],
)
async def test_a_malformed_question_is_refused_with_the_reason(api: Api, body: Any) -> None:
    answer = await api("POST", "/query", json=body)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input"), answer.text
    assert answer.json()["detail"]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text)[:12])
async def test_hostile_text_gets_an_answer_or_a_clear_refusal_everywhere(api: Api, text: str) -> None:
    params = {"name": text.encode("utf-8", "replace").decode()}
    calls = [api("POST", "/query", json={"query": text, "mode": mode}) for mode in MODES]
    calls += [api("POST", "/query", json={"query": "x", "filter": {"word": text, "source_id": [text]}})]
    if len(text) < 5000:
        calls += [api("GET", "/graph/entities", params=params)]
        calls += [api("GET", "/graph/neighbourhood", params={"entity": params["name"]})]
        calls += [api("GET", "/sources", params={"type": params["name"], "filter": params["name"]})]
        calls += [api("GET", "/sources", params={"after": params["name"]})]
        calls += [api.cite(params["name"])]
        calls += [api("PUT", "/sources/document/x", json={"text": text, "title": text[:900]})]
    for answer in await asyncio.gather(*calls):
        assert answer.status_code < 500, (answer.url, answer.text)
        if answer.status_code >= 400:
            assert answer.headers["content-type"] == "application/problem+json"
            assert answer.json()["detail"]


async def test_entities_are_searched_by_prefix_paged_and_read_with_their_neighbours(api: Api, running: Running) -> None:
    text = "Retry budgets and the retry queue and the retry ledger depend on Wolverton."
    running.extractor.answers[text] = facts(
        ("Retry Budget", "depends-on", "Wolverton"),
        ("retry queue", "depends-on", "Wolverton"),
        ("retry ledger", "depends-on", "Wolverton"),
    )
    await api.put("a.txt", text)
    first = (await api("GET", "/graph/entities?name=The RETRY-&limit=2")).json()
    second = (await api("GET", "/graph/entities", params={"name": "retry", "limit": 2, "after": first["next"]})).json()
    names = [item["name"] for item in first["items"] + second["items"]]
    assert names == ["Retry Budget", "retry ledger", "retry queue"]
    assert second["next"] is None
    entity = (await api("GET", "/graph/entities/concept:retry%20budget")).json()
    assert (entity["entity"]["name"], entity["surface_forms"]) == ("Retry Budget", ["Retry Budget"])
    assert [one["id"] for one in entity["relationships"]] == ["concept:retry budget|depends-on|concept:wolverton"]
    (mention,) = entity["mentions"]
    assert (await api.cite(mention["chunk_id"])).json()["text"] == text
    around = (await api("GET", "/graph/neighbourhood?entity=concept:wolverton&limit=2")).json()
    assert around["entity"]["id"] == "concept:wolverton"
    assert len(around["relationships"]) == 2
    ends = {one["from_id"] for one in around["relationships"]}
    assert {one["id"] for one in around["entities"]} == ends


@pytest.mark.parametrize("name", ["%F0%9F%98%80", "%00", "%20", "%E2%80%8D"])
async def test_a_name_that_can_name_nothing_finds_nothing_and_no_name_lists_all(
    api: Api, running: Running, name: str
) -> None:
    running.extractor.answers["Herons wait."] = facts(("heron", "waits in", "reed"))
    await api.put("a.txt", "Herons wait.")
    assert (await api("GET", f"/graph/entities?name={name}")).json() == {"items": [], "next": None}
    assert len((await api("GET", "/graph/entities?name=")).json()["items"]) == 2
