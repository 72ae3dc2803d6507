"""Who may call what: keys, scopes, tenants, the operator, and end users' subjects."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from integration.api.conftest import Api, MakeKey, Running, address, facts

pytestmark = pytest.mark.neo4j

CALLS = (
    ("read", "GET", "/sources", None),
    ("read", "GET", "/sources/document/a", None),
    ("read", "POST", "/query", {"query": "herons"}),
    ("read", "GET", "/chunks/x", None),
    ("read", "GET", "/graph/entities", None),
    ("read", "GET", "/graph/entities/concept:x", None),
    ("read", "GET", "/graph/neighbourhood?entity=concept:x", None),
    ("write", "PUT", "/sources/document/a", {"text": "Herons wait."}),
    ("write", "PATCH", "/sources/document/a", {"graph": True}),
    ("write", "DELETE", "/sources/document/a", None),
    ("write", "GET", "/jobs", None),
    ("write", "GET", "/jobs/x", None),
    ("write", "GET", "/jobs/x/events", None),
    ("admin", "GET", "/tenants", None),
    ("admin", "GET", "/tenants/{tenant}", None),
    ("admin", "PUT", "/tenants/{tenant}", {}),
    ("admin", "GET", "/keys", None),
    ("admin", "POST", "/keys", {"scopes": ["nonsense"]}),
    ("admin", "DELETE", "/keys/x", None),
    ("admin", "GET", "/metrics", None),
)


@pytest.mark.usefixtures("unguarded")
async def test_until_the_first_key_a_caller_of_this_machine_is_the_operator_and_then_never_again(
    api: Api, key: MakeKey
) -> None:
    for path in ("/tenants", "/metrics", "/info"):
        assert (await api.http.get(f"/v1{path}")).status_code == 200
    await key("admin")
    (made,) = (await api("GET", "/keys")).json()["items"]
    assert (await api("DELETE", f"/keys/{made['id']}")).status_code == 204
    assert (await api.http.get("/v1/tenants")).status_code == 401
    assert (await api("GET", "/tenants")).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "https://evil.example"}, {"Host": "evil.example:8080"}, {"Host": "127.0.0.1.evil.example"}],
)
@pytest.mark.usefixtures("unguarded")
async def test_a_web_page_of_another_origin_is_not_the_operator(api: Api, headers: dict[str, str]) -> None:
    for path in ("/tenants", "/metrics"):
        answer = await api.http.get(f"/v1{path}", headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (403, "not_allowed")


async def test_once_a_key_exists_every_call_needs_one(api: Api, key: MakeKey) -> None:
    await key("read")
    for _, method, path, body in CALLS:
        for secret in (None, b"Bearer kw_wrong", b"Bearer \xe9", b"Basic eDp5"):
            headers = [(b"Authorization", secret)] if secret else []
            answer = await api.http.request(method, f"/v1{path.format(tenant=api.tenant)}", json=body, headers=headers)
            assert (answer.status_code, answer.json()["code"]) == (401, "not_authenticated"), (method, path)
            assert answer.headers["www-authenticate"] == "Bearer"
    for path in ("/health", "/ready"):
        for secret in ({}, {"Authorization": "Bearer kw_wrong"}):
            answer = await api.http.get(f"/v1{path}", headers=secret)
            assert answer.status_code == 200
            assert all(part == {"ok": True, "detail": None} for part in answer.json()["parts"].values())


async def test_a_limited_administrator_does_not_rule_the_whole_tenant(api: Api, key: MakeKey) -> None:
    await key("read")
    narrow = await key("read", "admin", subjects=["group:a"])
    for method in ("PUT", "DELETE"):
        answer = await narrow(method, f"/tenants/{api.tenant}", json={})
        assert (answer.status_code, answer.json()["code"]) == (403, "not_allowed")
    assert (await narrow("GET", f"/tenants/{api.tenant}/usage")).status_code == 403
    (own,) = (await narrow("GET", "/keys")).json()["items"]
    assert own["subjects"] == ["group:a"]
    (wide,) = (one for one in (await api("GET", "/keys")).json()["items"] if one["subjects"] is None)
    assert (await narrow("DELETE", f"/keys/{wide['id']}")).status_code == 404
    assert (await (await key("admin"))("PUT", f"/tenants/{api.tenant}", json={})).status_code == 200


async def test_what_runs_where_is_told_to_the_operator_only(api: Api, key: MakeKey) -> None:
    answer = await (await key("read", "write", "admin"))("GET", "/info")
    assert (answer.status_code, answer.json()["code"]) == (403, "not_allowed")
    assert (await api("GET", "/info")).status_code == 200


@pytest.mark.parametrize("scope", ["read", "write", "admin"])
async def test_each_call_needs_its_scope_and_no_other(api: Api, key: MakeKey, scope: str) -> None:
    caller = await key(scope)
    for needed, method, path, body in CALLS:
        answer = await caller(method, path.format(tenant=api.tenant), json=body)
        if needed == scope:
            assert answer.status_code not in {401, 403}, (method, path, answer.text)
        else:
            assert (answer.status_code, answer.json()["code"]) == (403, "not_allowed"), (method, path)


async def test_a_key_serves_its_own_tenant_only(api: Api, key: MakeKey) -> None:
    caller = await key("read", "write", "admin")
    for tenant in ("default", "nobody"):
        answer = await caller("GET", "/sources", headers={"Knotwork-Tenant": tenant})
        assert (answer.status_code, answer.json()["code"]) == (403, "not_allowed")
        for method in ("GET", "PUT", "DELETE"):
            answer = await caller(method, f"/tenants/{tenant}", json={})
            assert answer.status_code == 403, (method, answer.text)
    assert (await caller("GET", "/tenants")).json() == {"items": [api.tenant]}


async def test_the_operator_is_told_of_a_tenant_that_does_not_exist(api: Api) -> None:
    for _, method, path, body in CALLS[:13]:
        answer = await api(method, path, json=body, headers={"Knotwork-Tenant": "nobody"})
        assert (answer.status_code, answer.json()["code"]) == (404, "unknown_tenant"), (method, path)


async def test_a_key_is_shown_once_listed_without_its_secret_and_revoked_at_once(api: Api) -> None:
    made = await api("POST", "/keys", json={"name": "page", "scopes": ["read"], "subjects": ["group:a"]})
    secret, key_id = made.json()["secret"], made.json()["id"]
    assert made.headers["cache-control"] == "no-store"
    listed = await api("GET", "/keys")
    expected = {"id": key_id, "name": "page", "tenant": api.tenant, "scopes": ["read"], "subjects": ["group:a"]}
    assert listed.json() == {"items": [expected]}
    assert secret not in listed.text
    assert (await api.with_key(secret)("GET", "/sources")).status_code == 200
    assert (await api("DELETE", f"/keys/{key_id}")).status_code == 204
    answer = await api.http.get("/v1/sources", headers={"Authorization": f"Bearer {secret}"})
    assert (answer.status_code, answer.json()["code"]) == (401, "not_authenticated")


@pytest.mark.parametrize(
    "body",
    [{"scopes": []}, {"scopes": ["root"]}, {}, {"scopes": ["read"], "subjects": []}, {"scopes": ["read"], "x": 1}],
)
async def test_a_malformed_key_is_refused(api: Api, body: dict[str, Any]) -> None:
    assert (await api("POST", "/keys", json=body)).json()["code"] == "invalid_input"


async def test_no_key_gives_more_than_its_maker_has(key: MakeKey) -> None:
    narrow = await key("read", "admin", subjects=["group:a"])
    for body in (
        {"scopes": ["read"]},
        {"scopes": ["read"], "subjects": ["group:b"]},
        {"scopes": ["act-as"], "subjects": ["group:a"]},
        {"scopes": ["write"], "subjects": ["group:a"]},
    ):
        assert (await narrow("POST", "/keys", json=body)).status_code == 403, body


async def test_only_act_as_may_name_an_end_user(api: Api, key: MakeKey) -> None:
    await api.put("a.txt", "Herons wait.", auth_subjects=["user:ana"])
    answer = await (await key("read")).acting_for("user:ana")("GET", "/sources")
    assert (answer.status_code, answer.json()["code"]) == (403, "not_allowed")
    acting = await key("read", "act-as", subjects=["group:page"])
    assert await acting.ask("herons") == []
    assert await acting.acting_for("user:bob").ask("herons") == []
    assert len(await acting.acting_for("user:ana", "group:x").ask("herons")) == 1
    assert await acting.acting_for("").ask("herons") == []


@pytest.mark.parametrize("subjects", [b"\xff\xfe", b"x" * 300])
async def test_malformed_subjects_are_refused(api: Api, subjects: bytes) -> None:
    headers = [(name.encode(), value.encode()) for name, value in api.headers.items()]
    answer = await api.http.get("/v1/sources", headers=[*headers, (b"Knotwork-Subjects", subjects)])
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input")


async def test_a_secret_word_crosses_no_endpoint_to_another_subject_or_tenant(
    api: Api, key: MakeKey, running: Running
) -> None:
    canary = "Zyzzyva"
    secret = f"{canary} guards the vault."
    running.extractor.answers[secret] = facts((canary, "guards", "vault"))
    running.extractor.answers["The vault is old."] = facts(("vault", "is", "old thing"))
    await api.put(f"{canary}.txt", secret, auth_subjects=["user:ana"], title=canary, metadata={"word": canary})
    await api.put("open.txt", "The vault is old.")
    owner = await key("read", "write", subjects=["user:ana"])
    (passage, _) = await owner.ask(f"{canary} vault", mode="local")
    assert passage["text"] == secret
    job = (await owner("GET", "/jobs")).json()["items"][-1]
    chunk_id, entity = passage["id"], f"concept:{canary.lower()}"

    async def answers_of(caller: Api) -> list[httpx.Response]:
        modes = ("semantic", "keyword", "hybrid", "local")
        calls = [caller("POST", "/query", json={"query": "vault guards", "mode": mode, "top_k": 50}) for mode in modes]
        paths = ("/sources", "/jobs", "/graph/entities", "/graph/entities/concept:vault")
        calls += [caller("GET", path) for path in (*paths, "/graph/neighbourhood?entity=concept:vault")]
        return list(await asyncio.gather(*calls))

    hidden = [
        ("GET", address(f"{canary}.txt")),
        ("DELETE", address(f"{canary}.txt")),
        ("PATCH", address(f"{canary}.txt")),
        ("PUT", address(f"{canary}.txt")),
        ("GET", f"/graph/entities/{entity}"),
        ("GET", f"/graph/neighbourhood?entity={entity}"),
        ("GET", f"/jobs/{job['id']}"),
        ("GET", f"/jobs/{job['id']}/events"),
    ]
    for caller in (await key("read", "write", subjects=["user:bob"]), api.acting_for("user:bob")):
        for answer in await answers_of(caller):
            assert canary.lower() not in answer.text.lower(), answer.url
        for method, path in hidden:
            body = {"text": "mine"} if method == "PUT" else {"graph": True} if method == "PATCH" else None
            answer = await caller(method, path, json=body)
            assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), (method, path)
        assert (await caller.cite(chunk_id)).status_code == 404
    assert (await owner("GET", address(f"{canary}.txt"))).status_code == 200
    for answer in await answers_of(Api(api.http, "default", **{**api.headers, "Knotwork-Tenant": "default"})):
        assert canary.lower() not in answer.text.lower(), answer.url


async def test_a_put_that_waits_already_hides_its_source_from_other_writers(api: Api, key: MakeKey) -> None:
    bob = await key("write", subjects=["user:bob"])
    await api("PUT", address("a.txt"), json={"text": "Herons wait.", "auth_subjects": ["user:ana"]})
    answer = await bob("PUT", address("a.txt"), json={"text": "Mine."})
    assert answer.status_code == 404


async def test_a_job_is_for_those_who_may_read_its_source_now_and_for_who_submitted_it(api: Api, key: MakeKey) -> None:
    ana, ben = [await key("read", "write", subjects=[subject]) for subject in ("user:ana", "user:ben")]
    job = await api.put("a.txt", "Herons wait.", auth_subjects=["user:ana"])
    assert (await ana("GET", f"/jobs/{job['id']}")).status_code == 200
    narrowed = await api("PATCH", f"{address('a.txt')}?wait=true", json={"auth_subjects": ["user:ben"]})
    assert narrowed.status_code == 200
    assert (await ana("GET", f"/jobs/{job['id']}")).status_code == 404
    assert (await ana("GET", "/jobs")).json()["items"] == []
    assert len((await ben("GET", "/jobs")).json()["items"]) == 2
    own = await ana.put("for-ben.txt", "Reeds bend.", auth_subjects=["user:ben"])
    assert (await ana("GET", f"/jobs/{own['id']}")).status_code == 200
    deleted = (await ben("DELETE", f"{address('a.txt')}?wait=true")).json()["job"]
    assert (await ben("GET", f"/jobs/{deleted['id']}")).status_code == 200
    assert (await ben("GET", f"/jobs/{job['id']}")).status_code == 404
    assert (await api("GET", f"/jobs/{job['id']}")).status_code == 200
