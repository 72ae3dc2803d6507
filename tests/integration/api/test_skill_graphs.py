"""Skill graphs over REST: kept in versions, checked, drawn, stepped through, and apart by tenant."""

from __future__ import annotations

import asyncio
import time
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from typer.testing import CliRunner

from integration.api.conftest import Api, Running
from knotwork.cli import lifecycle
from knotwork.cli.main import app

pytestmark = pytest.mark.neo4j

SAMPLE = (Path(__file__).parents[3] / "samples" / "skill-graphs" / "on-call.yaml").read_text(encoding="utf-8")
TWO = """skills: [{id: a, description: herons wait}, {id: b, description: quolls hunt}]
start: {entries: [a, b], %s}
"""


async def put(api: Api, name: str, declaration: object) -> dict[str, Any]:
    answer = await api("PUT", f"/skill-graphs/{quote(name, safe='')}", json={"declaration": declaration})
    assert answer.status_code == 200, answer.text
    return answer.json()


async def step(api: Api, name: str, *, jump_to: str | None = None, **context: Any) -> httpx.Response:
    body = {"context": context, "jump_to": jump_to}
    return await api("POST", f"/skill-graphs/{quote(name, safe='')}/step", json=body)


def refused(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


async def test_a_graph_is_kept_in_versions(api: Api) -> None:
    first = await put(api, "当番 1", SAMPLE)
    assert (first["number"], first["changed"]) == (1, True)
    assert [one["code"] for one in first["problems"]] == ["unreachable-skill"]
    assert not (await put(api, "当番 1", SAMPLE))["changed"]
    second = await put(api, "当番 1", {"skills": [{"id": "a"}], "start": "a"})
    address = f"/skill-graphs/{quote('当番 1')}"
    detail = (await api("GET", address)).json()
    assert (detail["version"], detail["number"]) == (second["version"], 2)
    assert [one["is_current"] for one in detail["versions"]] == [False, True]
    old = (await api("GET", address, params={"version": first["version"]})).json()
    assert (old["declaration"], old["is_current"]) == (SAMPLE, False)
    listed = (await api("GET", "/skill-graphs")).json()
    assert [one["name"] for one in listed["items"]] == ["当番 1"]
    assert (await api("DELETE", address)).status_code == 204
    for gone in (await api("GET", address), await api("DELETE", address), await step(api, "当番 1")):
        assert refused(gone) == (404, "not_found")


async def test_a_conversation_is_the_callers_state_alone(api: Api) -> None:
    await put(api, "on call", SAMPLE)
    message = "LGR-1207 on Ledger, whom do I wake?"
    first = (await step(api, "on call", user_message=message)).json()
    assert (first["cursor"], first["by"]) == ("triage", "entry")
    assert [one["id"] for one in first["active_skills"]] == ["triage", "ground rules"]
    assert first["active_tools"] == ["search", "paths"]
    assert first["edge"] == {"from": None, "to": "triage", "kind": "entry", "label": "names a code"}
    on: dict[str, Any] = {"user_message": message, "iteration": 1, "current_skill_id": first["cursor"]}
    last = {"tool_name": "search", "result": ["services/ledger.md"]}
    second = (await step(api, "on call", **on, last_tool_result=last)).json()
    assert (second["cursor"], second["reason"]) == ("owner", "the route 'triage' → 'owner' fired (found)")
    assert [one["id"] for one in second["reachable_skills"]] == ["escalate", "triage", "policy", "ground rules"]
    assert (await step(api, "on call", **on, last_tool_result=last)).json() == second
    jumped = (await step(api, "on call", current_skill_id="owner", jump_to="policy")).json()
    assert (jumped["cursor"], jumped["by"]) == ("policy", "jump")


async def test_what_cannot_be_stepped_is_refused_by_name(api: Api) -> None:
    await put(api, "on call", SAMPLE)
    assert refused(await step(api, "on call", current_skill_id="nowhere")) == (422, "unknown_skill")
    answer = await step(api, "on call", current_skill_id="owner", jump_to="postmortem")
    assert refused(answer) == (422, "jump_refused")
    assert answer.json()["reachable"] == ["escalate", "triage", "policy", "ground rules"]
    assert refused(await step(api, "on call", unknown=1)) == (400, "invalid_input")
    assert refused(await step(api, "on call", chosen_entry_id="triage")) == (400, "invalid_input")


async def test_a_start_by_relevance_asks_the_configured_embedder(api: Api, running: Running) -> None:
    await put(api, "menu", TWO % "by_relevance: true, temperature: 0.5")
    answer = (await step(api, "menu", user_message="quolls hunt")).json()
    assert (answer["cursor"], answer["by"]) == ("b", "chosen")
    assert answer["scoring"]["scored_by"] == f"embedding:{running.embedder.id}"
    assert sum(one["share"] for one in answer["scoring"]["scores"]) == pytest.approx(1)
    checked = (await api("GET", "/skill-graphs/menu/checkup")).json()
    assert (checked["ok"], checked["calls_model"], checked["problems"]) == (True, True, [])
    chosen = (await step(api, "menu", user_message="quolls hunt", chosen_entry_id="a")).json()
    assert (chosen["cursor"], chosen["scoring"]) == ("a", None)


async def test_a_start_by_keywords_calls_no_model(api: Api, running: Running) -> None:
    await put(api, "menu", TWO % "scored_by: keyword")
    answer = (await step(api, "menu", user_message="Do herons wait?")).json()
    assert (answer["cursor"], answer["scoring"]["scored_by"]) == ("a", "keyword")


async def test_a_declaration_is_checked_and_drawn_without_being_stored(api: Api) -> None:
    answer = (await api("POST", "/skill-graphs/check", json={"declaration": SAMPLE})).json()
    assert answer["ok"]
    assert answer["mermaid"].startswith("flowchart TD\n")
    broken = await api("POST", "/skill-graphs/check", json={"declaration": {"skills": [], "start": "a"}})
    assert (broken.json()["ok"], broken.json()["problems"][0]["ids"]) == (False, ["a"])
    assert (await api("GET", "/skill-graphs")).json()["items"] == []
    await put(api, "on call", SAMPLE)
    assert (await api("GET", "/skill-graphs/on%20call/drawing")).json() == {"mermaid": answer["mermaid"]}


async def test_a_graph_with_errors_is_kept_only_where_it_asks_for_no_check(api: Api) -> None:
    broken: dict[str, Any] = {"skills": [{"id": "a"}], "start": "b"}
    answer = await api("PUT", "/skill-graphs/x", json={"declaration": broken})
    assert refused(answer) == (422, "invalid_skill_graph")
    assert "'b'" in answer.json()["detail"]
    assert (await api("GET", "/skill-graphs")).json()["items"] == []
    kept = await put(api, "x", {**broken, "check": "off"})
    assert [one["code"] for one in kept["problems"]] == ["unknown-skill", "unreachable-skill"]


@pytest.mark.parametrize(
    "declaration",
    [
        "",
        "[",
        "a: &x [1]\nb: *x\n",
        "skills: [{id: a, unknown: 1}]",
        "[" * 1000,
        'skills: [{id: "\\ud800"}]\nstart: a',
        "skills: [{id: a}]\nstart: {use: a, when: 'message matches \"(a{1000000}){1000000}\"'}",
        "skills: [{id: a}]\nstart: {use: a, when: '__import__(\"os\")'}",
    ],
)
async def test_a_hostile_declaration_is_refused_with_its_place(api: Api, declaration: str) -> None:
    for method, path in (("PUT", "/skill-graphs/x"), ("POST", "/skill-graphs/check")):
        answer = await api(method, path, json={"declaration": declaration})
        assert refused(answer) == (422, "invalid_declaration")
        assert answer.json()["line"] >= 1


@pytest.mark.parametrize("name", ["a\nb", " a", "x" * 201, "%00"])
async def test_a_name_of_no_use_is_refused(api: Api, name: str) -> None:
    answer = await api(
        "PUT", f"/skill-graphs/{quote(name, safe='%')}", json={"declaration": TWO % "scored_by: keyword"}
    )
    assert refused(answer) == (400, "invalid_input")


async def test_ids_of_any_script_and_a_large_graph_are_stepped(api: Api) -> None:
    ids = [f"Умение {number} 苹果 \"`'\\n" for number in range(1_000)]
    steps = [{"from": a, "to": b, "on_tool_return": "go"} for a, b in pairwise(ids)]
    await put(api, "large", {"skills": [{"id": one} for one in ids], "start": ids[0], "steps": steps})
    answer = await step(api, "large", current_skill_id=ids[7], last_tool_result={"tool_name": "go"})
    assert answer.json()["cursor"] == ids[8]


async def test_a_runaway_expression_stops_its_step_and_nobody_elses(api: Api) -> None:
    slow = 'message matches "(x+x+)+y"'
    await put(api, "slow", {"skills": [{"id": "a"}], "start": {"use": "a", "when": slow}})
    await put(api, "menu", TWO % "scored_by: keyword")
    started = time.monotonic()
    runaway = asyncio.create_task(step(api, "slow", user_message="x" * 5_000))
    assert (await step(api, "menu", user_message="herons")).json()["cursor"] == "a"
    assert refused(await runaway) == (422, "predicate_failed")
    assert time.monotonic() - started < 10


async def test_a_graph_of_another_tenant_is_unknown_and_scopes_hold(api: Api) -> None:
    await put(api, "on call", SAMPLE)
    other = Api(api.http, f"{api.tenant}-other", Authorization=api.headers["Authorization"])
    await other("PUT", f"/tenants/{other.tenant}", json={})
    assert refused(await other("GET", "/skill-graphs/on%20call")) == (404, "not_found")
    assert refused(await step(other, "on call")) == (404, "not_found")
    assert (await other("GET", "/skill-graphs")).json()["items"] == []
    made = (await api("POST", "/keys", json={"name": "reader", "scopes": ["read"]})).json()
    reader = api.with_key(made["secret"])
    reader.headers.pop("Knotwork-Tenant", None)
    assert (await step(reader, "on call", user_message="hello")).json()["cursor"] == "ground rules"
    answer = await reader("PUT", "/skill-graphs/on%20call", json={"declaration": SAMPLE})
    assert refused(answer) == (403, "not_allowed")
    assert refused(await reader("DELETE", "/skill-graphs/on%20call")) == (403, "not_allowed")


async def test_a_tenant_that_goes_takes_its_graphs(api: Api) -> None:
    await put(api, "on call", SAMPLE)
    await api("DELETE", f"/tenants/{api.tenant}")
    await api("PUT", f"/tenants/{api.tenant}", json={})
    assert (await api("GET", "/skill-graphs")).json()["items"] == []
    assert refused(await api("GET", "/skill-graphs/on%20call")) == (404, "not_found")


async def test_the_command_line_keeps_lists_gives_back_and_removes(
    api: Api, running: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def running_service(*_: object) -> object:
        return running.service

    monkeypatch.setattr(lifecycle, "ensure_service", running_service)

    async def knotwork(*words: str) -> str:
        given = ["--home", str(running.settings.home), "--tenant", api.tenant, "skills", *words]
        result = await asyncio.to_thread(CliRunner().invoke, app, given)
        assert result.exit_code == 0, result.output
        return result.stdout

    graph, out = tmp_path / "graph.yaml", tmp_path / "out.yaml"
    graph.write_text(SAMPLE, encoding="utf-8")
    said = await knotwork("put", "当番 %2F?#", str(graph))
    assert "is now version 1, " in said
    assert "unreachable-skill" in said
    assert "was already version 1" in await knotwork("put", "当番 %2F?#", str(graph))
    await knotwork("put", ".", str(graph))
    assert [line.split("\t")[0] for line in (await knotwork("list")).splitlines()] == [".", "当番 %2F?#"]
    await knotwork("get", "当番 %2F?#", "--out", str(out))
    assert out.read_text(encoding="utf-8") == SAMPLE
    version = said.splitlines()[0].split()[-1]
    assert await knotwork("get", "当番 %2F?#", "--version", version) == SAMPLE
    await knotwork("delete", "当番 %2F?#")
    assert (await knotwork("list")).startswith(".\t1\t")
