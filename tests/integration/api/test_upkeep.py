"""Stale sources over REST, and indexing them again page by page."""

from __future__ import annotations

import asyncio

import pytest

from integration.api.conftest import Api, MakeKey, Running

pytestmark = pytest.mark.neo4j


async def test_stale_sources_are_listed_and_indexed_again_page_by_page(
    api: Api, running: Running, key: MakeKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        await api.put(f"{number}.txt", f"Text {number} of the handbook.")
    assert (await api("GET", "/stale")).json() == {"items": [], "next": None}
    reader = await key("read")
    assert (await reader("GET", "/stale")).status_code == (await reader("POST", "/reindex")).status_code == 403
    monkeypatch.setattr(running.extractor, "id", "replay/2")
    calls = running.extractor.calls
    first = (await api("GET", "/stale?limit=2")).json()
    assert [(one["source"]["id"], one["reasons"]) for one in first["items"]] == [
        ("0.txt", ["extraction"]),
        ("1.txt", ["extraction"]),
    ]
    assert running.extractor.calls == calls
    queued, after = 0, None
    while True:
        answer = await api("POST", "/reindex", params={"limit": 2} | ({"after": after} if after else {}))
        assert answer.status_code == 202
        queued, after = queued + answer.json()["queued"], answer.json()["next"]
        if after is None:
            break
    assert queued == 3
    async with asyncio.timeout(30):
        while (await api("GET", "/stale")).json()["items"]:  # noqa: ASYNC110 - a service tells nobody
            await asyncio.sleep(0.1)
    assert running.extractor.calls - calls == 3
    assert (await api("POST", "/reindex?all=true")).json() == {"queued": 3, "next": None}
