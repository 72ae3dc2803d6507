"""Tenants over REST: made, switched, counted, removed."""

from __future__ import annotations

import asyncio

import pytest

from integration.api.conftest import Api, Running, facts

pytestmark = pytest.mark.neo4j


async def test_a_tenant_is_made_read_listed_and_removed(api: Api) -> None:
    await api.put("a.txt", "Herons wait.")
    detail = (await api("GET", f"/tenants/{api.tenant}")).json()
    assert detail["settings"] == {"graph": None, "extraction_model": None}
    assert (detail["counts"]["sources"], detail["counts"]["chunks"]) == (1, 1)
    assert api.tenant in (await api("GET", "/tenants")).json()["items"]
    assert (await api("DELETE", f"/tenants/{api.tenant}")).status_code == 204
    for answer in (await api("GET", f"/tenants/{api.tenant}"), await api("GET", "/sources")):
        assert (answer.status_code, answer.json()["code"]) == (404, "unknown_tenant")
    await api("PUT", f"/tenants/{api.tenant}", json={})
    assert await api.ask("herons") == []
    assert (await api("GET", "/jobs")).json()["items"] == []


@pytest.mark.parametrize("name", ["Upper", "-x", "a b", "x" * 65, "%2E%2E", "tenant%0A", "😀"])
async def test_a_name_of_no_use_is_refused(api: Api, name: str) -> None:
    answer = await api("PUT", f"/tenants/{name}", json={})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input")


async def test_the_switch_removes_every_graph_and_brings_it_back(api: Api, running: Running) -> None:
    running.extractor.answers["Quolls hunt voles."] = facts(("Quolls", "hunt", "voles"))
    await api.put("a.txt", "Quolls hunt voles.")

    async def switch(value: bool | None) -> None:
        answer = await api("PUT", f"/tenants/{api.tenant}", json={"graph": value})
        assert answer.json() == {
            "tenant": api.tenant,
            "settings": {"graph": value, "extraction_model": None},
            "queued": 1,
        }
        jobs = (await api("GET", "/jobs")).json()["items"]
        await asyncio.gather(*(api("GET", f"/jobs/{job['id']}/events") for job in jobs))

    await switch(False)
    assert (await api("GET", "/graph/entities")).json()["items"] == []
    await switch(None)
    assert [one["name"] for one in (await api("GET", "/graph/entities")).json()["items"]] == ["Quolls", "voles"]
