"""Usage and quotas over REST."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from integration.api.conftest import Api, MakeKey, Running
from knotwork.api.auth import DEFAULT_TENANT

pytestmark = pytest.mark.neo4j


async def used(api: Api, **query: str) -> list[tuple[str, str, int]]:
    """Mode, model and queries of each row."""
    answer = await api("GET", f"/tenants/{api.tenant}/usage", params=query)
    assert answer.status_code == 200, answer.text
    return [(one["mode"], one["model"], one["queries"]) for one in answer.json()["items"]]


async def set_quota(api: Api, **limits: int) -> None:
    answer = await api("PUT", f"/tenants/{api.tenant}/quota", json=limits)
    assert answer.status_code == 200, answer.text


async def test_queries_are_shown_by_day_mode_and_model(api: Api, running: Running) -> None:
    await api.put("a.txt", "Herons wait.")
    for mode in ("semantic", "hybrid", "hybrid", "keyword", "paths"):
        await api.ask("herons", mode=mode)
    assert (await api("POST", "/query", json={"query": " ", "mode": "hybrid"})).status_code == 400
    model = running.embedder.id
    assert await used(api) == [("hybrid", model, 2), ("keyword", "", 1), ("paths", "", 1), ("semantic", model, 1)]
    answer = (await api("GET", f"/tenants/{api.tenant}/usage")).json()
    assert {one["day"] for one in answer["items"]} == {datetime.now(UTC).date().isoformat()}
    assert answer["items"][0]["input_tokens"] > 0
    assert answer["today"]["queries"] == answer["month"]["queries"] == 5
    assert await used(api, until="2020-01-01") == []


@pytest.mark.parametrize("query", [{"since": "yesterday"}, {"since": "2030-01-02", "until": "2030-01-01"}])
async def test_days_of_no_use_are_refused(api: Api, query: dict[str, str]) -> None:
    answer = await api("GET", f"/tenants/{api.tenant}/usage", params=query)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input")


async def test_a_query_beyond_the_quota_is_refused_until_the_period_ends(api: Api) -> None:
    await set_quota(api, queries_per_day=1)
    await api.ask("herons")
    answer = await api("POST", "/query", json={"query": "herons"})
    problem = answer.json()
    assert (answer.status_code, problem["code"], problem["limit"]) == (429, "quota_exceeded", "queries_per_day")
    left_s = datetime.fromisoformat(problem["ends_at"]).timestamp() - datetime.now(UTC).timestamp()
    assert abs(int(answer.headers["Retry-After"]) - left_s) < 60
    assert (await api("GET", "/sources")).status_code == 200
    await set_quota(api, queries_per_month=5)
    await api.ask("herons")
    assert (await api("GET", f"/tenants/{api.tenant}/usage")).json()["quota"] == {
        "queries_per_day": None,
        "queries_per_month": 5,
        "tokens_per_day": None,
        "tokens_per_month": None,
    }


async def test_a_tenants_admin_reads_its_usage_and_does_not_lift_its_quota(api: Api, key: MakeKey) -> None:
    await set_quota(api, queries_per_day=0)
    admin = await key("admin", "read")
    assert await used(admin) == []
    for tenant in (api.tenant, DEFAULT_TENANT):
        answer = await admin("PUT", f"/tenants/{tenant}/quota", json={})
        assert (answer.status_code, answer.json()["code"]) == (403, "not_allowed")
    assert (await admin("PUT", f"/tenants/{api.tenant}", json={})).status_code == 200
    assert (await admin("POST", "/query", json={"query": "herons"})).status_code == 429
    assert (await admin("GET", f"/tenants/{DEFAULT_TENANT}/usage")).status_code == 403
    reader = await key("read")
    assert (await reader("GET", f"/tenants/{api.tenant}/usage")).status_code == 403


async def test_a_tenant_that_is_made_again_has_used_nothing(api: Api) -> None:
    await set_quota(api, queries_per_day=1)
    await api.ask("herons")
    assert len(await used(api)) == 1
    await api("DELETE", f"/tenants/{api.tenant}")
    await api("PUT", f"/tenants/{api.tenant}", json={})
    assert await used(api) == []
    for _ in range(2):
        await api.ask("herons")


async def test_an_unknown_tenant_has_neither_usage_nor_quota(api: Api) -> None:
    for answer in (await api("GET", "/tenants/nobody/usage"), await api("PUT", "/tenants/nobody/quota", json={})):
        assert (answer.status_code, answer.json()["code"]) == (404, "unknown_tenant")


@pytest.mark.parametrize("limits", [{"queries_per_day": -1}, {"tokens_per_day": 1.5}, {"queries_per_hour": 1}])
async def test_a_limit_of_no_use_is_refused(api: Api, limits: dict[str, float]) -> None:
    assert (await api("PUT", f"/tenants/{api.tenant}/quota", json=limits)).status_code == 400
