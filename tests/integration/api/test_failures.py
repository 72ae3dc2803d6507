"""Failures over REST: listed page by page, tried again."""

from __future__ import annotations

import asyncio

import pytest

from integration.api.conftest import Api, MakeKey, Running, facts

pytestmark = pytest.mark.neo4j

TEXTS = {f"{number}.txt": f"Text {number} that the extractor cannot read at first." for number in range(3)}


async def test_failed_chunks_are_listed_in_pages_and_tried_again(api: Api, running: Running, key: MakeKey) -> None:
    for id_, text in TEXTS.items():
        running.extractor.faults.fail(text)
        assert (await api.put(id_, text))["result"]["graph"]["failed_chunks"] == 1
    first = (await api("GET", "/failures?limit=2")).json()
    second = (await api("GET", "/failures", params={"limit": 2, "after": first["next"]})).json()
    listed = first["items"] + second["items"]
    assert {one["source"]["id"] for one in listed} == set(TEXTS)
    assert {(one["attempts"], one["error"]["code"]) for one in listed} == {(1, "model_failed")}
    assert second["next"] is None
    reader = await key("read")
    assert (await reader("GET", "/failures")).status_code == 403
    running.extractor.faults.failing.clear()
    for text in TEXTS.values():
        running.extractor.answers[text] = facts(("Ada", "knows", "Bob"))
    calls = running.extractor.calls
    answer = await api("POST", "/failures/retry")
    assert (answer.status_code, answer.json()) == (202, {"queued": 3})
    for _ in range(100):
        if not (await api("GET", "/failures")).json()["items"]:
            break
        await asyncio.sleep(0.1)
    assert (await api("GET", "/failures")).json()["items"] == []
    assert running.extractor.calls - calls == 3
    assert (await api("POST", "/failures/retry")).json() == {"queued": 0}
