"""Paths and traversals over REST, as callers of every kind have them."""

from __future__ import annotations

import pytest

from integration.api.conftest import Api, MakeKey, Running, facts

pytestmark = pytest.mark.neo4j

HOSTILE = (
    "'",
    '"',
    "(",
    "*",
    "\\",
    "'; DROP",
    "{}",
    "\x00",
    "\ud800",
    "a\u202eb",
    " ",
    "x" * 2000,
    "`",
    "$tenant",
    ":",
)


async def planted(api: Api, running: Running) -> None:
    """Ana owns the portal, which needs the ledger: two documents; the auditors alone know of the vault."""
    texts = {
        "one.md": ("Ana owns the portal.", facts(("Ana", "owns", "portal")), ["*"]),
        "two.md": ("The portal needs the ledger.", facts(("portal", "needs", "ledger")), ["*"]),
        "three.md": ("The vault needs the ledger.", facts(("vault", "needs", "ledger")), ["group:audit"]),
    }
    for name, (text, extraction, subjects) in texts.items():
        running.extractor.answers[text] = extraction
        await api.put(name, text, auth_subjects=subjects)


async def test_a_path_comes_with_numbered_passages_that_resolve(api: Api, running: Running) -> None:
    await planted(api, running)
    answer = (await api("POST", "/graph/paths", json={"entities": ["ana", "concept:ledger"]})).json()
    (path,) = answer["paths"]
    assert [hop["id"] for hop in path["hops"]] == [
        "concept:ana|owns|concept:portal",
        "concept:portal|needs|concept:ledger",
    ]
    assert answer["complete"] is True
    for hop in path["hops"]:
        (number,) = hop["citations"]
        passage = answer["passages"][number - 1]
        assert passage["citation"] == number
        assert (await api.cite(passage["id"])).json()["verified"] is True
    passages = await api.ask("How is Ana tied to the ledger?", mode="paths")
    assert {passage["source"]["id"] for passage in passages} == {"one.md", "two.md"}


async def test_what_depends_on_a_thing_is_told_as_its_reader_may_see_it(
    api: Api, running: Running, key: MakeKey
) -> None:
    await planted(api, running)
    body = {"entity": "ledger", "types": ["Needs"], "direction": "in", "depth": 2}
    everything = (await api("POST", "/graph/reach", json=body)).json()
    assert [one["entity"]["id"] for one in everything["reached"]] == ["concept:portal", "concept:vault"]
    assert (everything["counts"], everything["total"]) == ({"1": 2}, 2)
    reader = await key("read", subjects=["user:ben"])
    seen = (await reader("POST", "/graph/reach", json=body)).json()
    assert [one["entity"]["id"] for one in seen["reached"]] == ["concept:portal"]
    hidden = await reader("POST", "/graph/paths", json={"entities": ["vault", "ledger"]})
    assert (hidden.status_code, hidden.json()["code"]) == (404, "not_found")
    assert "audit" not in hidden.text
    (passage,) = await reader.ask("What needs the ledger?", mode="paths")
    assert passage["text"] == "The portal needs the ledger."


async def test_a_name_of_several_types_is_answered_with_its_candidates(api: Api, running: Running) -> None:
    for type_ in ("animal", "car"):
        text = f"The {type_} Jaguar has speed."
        entities = [{"name": "Jaguar", "type": type_}, {"name": "speed", "type": "concept"}]
        fact = [{"from": "Jaguar", "type": "has", "to": "speed"}]
        running.extractor.answers[text] = {"entities": entities, "relationships": fact}
        await api.put(f"{type_}.md", text)
    answer = await api("POST", "/graph/paths", json={"entities": ["Jaguar", "speed"]})
    assert (answer.status_code, answer.json()["code"]) == (409, "ambiguous_name")
    assert [one["id"] for one in answer.json()["candidates"]] == ["animal:jaguar", "car:jaguar"]
    asked = await api("POST", "/query", json={"query": "How is Jaguar tied to speed?", "mode": "paths"})
    assert asked.json()["code"] == "ambiguous_name"
    run = await api("GET", "/traversals/neighbourhood?entity=jaguar")
    assert run.json()["code"] == "ambiguous_name"


async def test_a_traversal_is_listed_and_runs_by_address_and_by_body(api: Api, running: Running) -> None:
    await planted(api, running)
    listed = (await api("GET", "/traversals")).json()["items"]
    assert len(listed) >= 12
    assert all(one["shipped"] and one["question"] and one["columns"] and one["refused"] is None for one in listed)
    by_body = await api("POST", "/traversals/dependants", json={"parameters": {"entity": "Ledger", "depth": 1}})
    by_address = await api("GET", "/traversals/dependants?entity=Ledger&depth=1&types=needs&types=uses")
    assert by_body.status_code == by_address.status_code == 200
    assert by_body.json()["rows"] == by_address.json()["rows"]
    assert [row[1] for row in by_body.json()["rows"]] == ["concept:portal", "concept:vault"]
    cut = (await api("GET", "/traversals/dependants?entity=ledger&limit=1")).json()
    assert (len(cut["rows"]), cut["truncated"]) == (1, True)
    reader = api.acting_for("user:ben")
    seen = (await reader("GET", "/traversals/dependants?entity=ledger")).json()["rows"]
    assert [row[1] for row in seen] == ["concept:portal"]


async def test_a_key_sees_its_tenant_alone(api: Api, running: Running, key: MakeKey) -> None:
    await planted(api, running)
    other = Api(api.http, f"{api.tenant}x", **{name: api.headers[name] for name in ("Authorization",)})
    assert (await other("PUT", f"/tenants/{other.tenant}", json={})).status_code == 200
    try:
        assert (await other("GET", "/traversals/orphans")).json()["rows"] == []
        assert (await other("GET", "/traversals/neighbourhood?entity=ledger")).status_code == 404
        reader = await key("read")
        assert (await reader("GET", "/traversals/most-central")).json()["rows"]
        crossed = await reader("GET", "/traversals/most-central", headers={"Knotwork-Tenant": other.tenant})
        assert crossed.status_code == 403
        for name in ("tenant", "audiences"):
            assert (await reader("GET", f"/traversals/most-central?{name}={other.tenant}")).status_code == 400
    finally:
        await other("DELETE", f"/tenants/{other.tenant}")


@pytest.mark.parametrize("text", HOSTILE)
async def test_hostile_names_are_answered_or_refused_in_words(api: Api, text: str) -> None:
    calls = [
        await api("POST", "/graph/paths", json={"entities": [text, text + "b"]}),
        await api("POST", "/graph/reach", json={"entity": text, "types": [text]}),
        await api("POST", "/traversals/neighbourhood", json={"parameters": {"entity": text}}),
        await api("POST", "/traversals/orphans", json={"parameters": {"type": text}}),
        await api("POST", "/traversals/orphans", json={"parameters": {text: "x"}}),
        await api("POST", "/query", json={"query": text + " a", "mode": "paths"}),
    ]
    assert all(answer.status_code in {200, 400, 404} for answer in calls), [answer.text for answer in calls]


async def test_bounds_are_refused_at_the_edge(api: Api) -> None:
    wrong = [
        ("/graph/paths", {"entities": ["a"]}),
        ("/graph/paths", {"entities": ["a"] * 6}),
        ("/graph/paths", {"entities": ["a", "b"], "hops": 7}),
        ("/graph/paths", {"entities": ["a", "b"], "direction": "up"}),
        ("/graph/reach", {"entity": "a", "depth": 11}),
        ("/graph/reach", {"entity": "a", "limit": 1001}),
        ("/traversals/orphans", {"limit": 0}),
        ("/traversals/orphans", {"limit": 10_000}),
        ("/traversals/orphans", {"parameters": {"nothing": 1}}),
        ("/traversals/orphans", {"parameters": [1]}),
        ("/traversals/dependants", {"parameters": {"entity": "a", "depth": 99}}),
    ]
    for path, body in wrong:
        answer = await api("POST", path, json=body)
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input"), (path, body, answer.text)
    missing = await api("GET", "/traversals/no-such-thing")
    assert (missing.status_code, missing.json()["code"]) == (404, "not_found")
