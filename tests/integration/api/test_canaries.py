"""Who may see what, over every operation and mode: a hidden source changes no answer, and no word of it crosses.

Two tenants get the same sources, one of them also sources that its reader may not see, full of canaries. Fifty callers
at a time ask both for everything that the OpenAPI document lists; answers must be equal, to the last count.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import random
import re
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import quote

import httpx
import pytest
import pytest_asyncio

from integration.api.conftest import Api, Running, address
from knotwork.adapters.neo4j.embedded import Neo4jAddress
from knotwork.adapters.neo4j.session import open_driver
from knotwork.domain.retrieval import Mode
from knotwork.errors import ModelRefused
from knotwork.services import access, tenants

pytestmark = pytest.mark.neo4j

CALLERS = 50
CANARY = re.compile(r"zq[a-z]+x|zv[a-z]+x")  # of the hidden sources | of the other tenant
HIDDEN_ID = "zqsourcex/zqpathx.md"
HIDDEN = address(HIDDEN_ID, "zqkindx")
GRAPH = {"skills": [{"id": "a", "description": "herons wait"}], "start": "a"}
LATE = {503, 504}
WORKS = {"/failures/retry", "/reindex", "/jobs/pause", "/jobs/resume"}  # their owner's would be carried out
CLOCK = {"elapsed_ms", "accepted_at", "started_at", "freshness_met", "degraded"}

OPEN: list[dict[str, Any]] = [
    {"id": "open.md", "text": "Harbour feeds Pier.", "metadata": {"date": "2024-05-01", "n": 1}},
    {"id": "anas.md", "text": "Pier joins Crane.", "metadata": {"n": 2}, "auth_subjects": ["user:ana"]},
    {"id": "more.md", "text": "Crane lifts Harbour, and Harbour waits for Pier.", "metadata": {"n": [1, 3]}},
]
QUERIES = (
    {"query": "harbour pier"},
    {"query": "How is Harbour related to Crane?"},
    {"query": "What does the harbour document say?", "filter": {"n": {"gte": 1}}},
    {"query": "zqentityx zqtextx zqkindx:zqentityx harbour"},
)


def _thing(name: str, description: str = "", type_: str = "concept") -> dict[str, str]:
    return {"name": name, "type": type_, "description": description}


def _fact(from_: str, type_: str, to: str, description: str) -> dict[str, str]:
    return {"from": from_, "type": type_, "to": to, "description": description}


def _said(text: str) -> dict[str, Any]:
    """What the extractor finds in an open text: its things, and how the first is tied to another."""
    first, verb, second = text.replace(",", "").replace(".", "").split()[:3]
    return {
        "entities": [_thing(name, f"{name} of {first}") for name in ("Crane", "Harbour", "Pier") if name in text],
        "relationships": [_fact(first, verb, second, "as the text says")],
    }


def _hidden(prefix: str) -> dict[str, dict[str, Any]]:
    """Raw extractions by text: new things, and more and better evidence of what is known from open sources."""

    def word(kind: str) -> str:
        return f"{prefix}{kind}x"

    loud = {
        "entities": [
            _thing("HARBOUR", f"the harbour as {word('description')} has it, at more length than others"),
            _thing("Harbour", word("type"), word("type")),  # a second type makes the name ambiguous
            _thing("Pier", f"the pier, of which much is said by {word('description')} alone"),
            _thing(word("entity"), word("description"), word("kind")),
            _thing("Crane"),
        ],
        "relationships": [
            _fact("HARBOUR", "feeds", "Pier", f"feeds, says {word('fact')}, as nobody else does"),
            _fact("Pier", "feeds", "Crane", word("fact")),
            _fact(word("entity"), word("relation"), "Pier", word("fact")),
            _fact("Crane", word("relation"), word("entity"), word("fact")),
        ],
    }
    return {
        f"{word('text')} tells of Harbour, Pier and Crane at the harbour pier.": loud,
        f"Harbour pier, harbour crane: {word('more')} again.": loud,
        f"{word('failing')} cannot be read, though harbour stands in it.": {},
    }


def _sources(prefix: str, first: str) -> list[dict[str, Any]]:
    """A source of each of these texts, with canaries in everything that a source has."""
    return [
        {
            "id": f"{prefix}sourcex-{number}.md" if number else first,
            "type": f"{prefix}kindx",
            "text": text,
            "title": f"{prefix}titlex Harbour",
            "metadata": {f"{prefix}fieldx": f"{prefix}valuex", "n": 1, "date": "2024-01-01"},
            "auth_subjects": [f"user:{prefix}zedx"],
        }
        for number, text in enumerate(_hidden(prefix))
    ]


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an operation. `is_live`: others change what it answers with, so only its status is compared."""

    operation: str
    path: str
    body: Any = None
    is_live: bool = False

    @property
    def method(self) -> str:
        return self.operation.partition(" ")[0]


@dataclass(frozen=True, slots=True)
class World:
    """The tenant with hidden sources, its twin without them, another tenant, and what of them has ids of its own."""

    operator: Api
    twin: Api
    other: Api
    zed: Api
    hidden_job: str
    hidden_chunk: str
    hidden_key: str
    operation: str


async def _fill(api: Api, sources: list[dict[str, Any]]) -> list[str]:
    """Put sources; the ids of their jobs."""
    jobs: list[str] = []
    for source in sources:
        body = {key: value for key, value in source.items() if key not in {"id", "type"}}
        path = address(source["id"], source.get("type", "document"))
        answer = await api("PUT", f"{path}?wait=true", json=body)
        assert answer.status_code == 200, answer.text
        jobs.append(answer.json()["job"]["id"])
    assert (await api("PUT", "/skill-graphs/calls", json={"declaration": GRAPH})).status_code == 200
    return jobs


async def _key(api: Api, *scopes: str, subjects: list[str] | None) -> tuple[str, Api]:
    answer = await api("POST", "/keys", json={"scopes": scopes, "subjects": subjects, "name": "made"})
    assert answer.status_code == 201, answer.text
    return answer.json()["id"], api.with_key(answer.json()["secret"])


@pytest_asyncio.fixture
async def world(api: Api, running: Running) -> AsyncGenerator[World]:
    """Hidden sources come first, in the middle and last, and one was open before."""
    twin = Api(api.http, f"twinof-{api.tenant}", **{**api.headers, "Knotwork-Tenant": f"twinof-{api.tenant}"})
    other = Api(api.http, f"{api.tenant}-other", **{**api.headers, "Knotwork-Tenant": f"{api.tenant}-other"})
    for one in (twin, other):
        assert (await one("PUT", f"/tenants/{one.tenant}", json={})).status_code == 200
    for prefix in ("zq", "zv"):
        running.extractor.answers.update(_hidden(prefix))
        running.extractor.faults.fail(list(_hidden(prefix))[-1], ModelRefused(f"{prefix}failurex at {prefix}failingx"))
    running.extractor.answers.update({source["text"]: _said(source["text"]) for source in OPEN})
    hidden, theirs = (_sources("zq", HIDDEN_ID), _sources("zv", "zvsourcex.md"))
    headed = {**hidden[1], "id": "zqheadx.md", "text": f"# zqheadingx harbour\n\n{hidden[1]['text']}"}
    jobs = await _fill(api, [hidden[0], OPEN[0], {**hidden[1], "auth_subjects": None}, OPEN[1]])
    narrowed = await api(
        "PATCH", f"{address(hidden[1]['id'], 'zqkindx')}?wait=true", json={"auth_subjects": ["user:zqzedx"]}
    )
    assert narrowed.status_code == 200, narrowed.text
    await _fill(api, [OPEN[2], hidden[2], {**headed, "media_type": "text/markdown"}])
    await _fill(twin, OPEN)
    await _fill(other, [{**source, "auth_subjects": None} for source in theirs] + OPEN)
    hidden_key, zed = await _key(api, "read", "write", "admin", subjects=["user:zqzedx"])
    (passage, *_) = await zed.ask("zqtextx", mode="keyword")
    verify = (await api("POST", "/verify")).json()["operation"]["id"]
    assert "event: done" in (await api("GET", f"/operations/{verify}/events")).text
    yield World(api, twin, other, zed, jobs[0], passage["id"], hidden_key, verify)
    for one in (api, twin, other):
        for made in (await one("GET", "/keys")).json()["items"]:
            await one("DELETE", f"/keys/{made['id']}")


def _graph_calls(world: World) -> list[Call]:
    """Reads, and what a limited reader tries on what it may not see."""
    queries = [
        Call("POST /v1/query", "/query", {**query, "mode": mode, "explain": True, "top_k": 20})
        for mode in Mode
        for query in QUERIES
    ]
    named = ("harbour", "concept:harbour", "pier", "zqtypex:harbour", "zqkindx:zqentityx", "zqentityx")
    ids = [quote(name, safe="") for name in named]
    ends = [["Harbour", "Crane"], ["Pier", "concept:harbour"], ["Pier", "zqentityx"]]
    return [
        *queries,
        Call("POST /v1/query", "/query", {"query": "harbour pier", "diversity": 0.5, "explain": True}),
        Call("POST /v1/query", "/query", {"query": "harbour", "mode": "paths", "filter": {"zqfieldx": "zqvaluex"}}),
        *(Call("GET /v1/sources", f"/sources?{asked}") for asked in ("limit=1", "limit=50", "type=zqkindx")),
        Call("GET /v1/sources/{source_type}/{source_id}", f"{address('open.md')}?text=true"),
        Call("GET /v1/sources/{source_type}/{source_id}", HIDDEN),
        Call("PATCH /v1/sources/{source_type}/{source_id}", HIDDEN, {"graph": True}),
        Call("DELETE /v1/sources/{source_type}/{source_id}", HIDDEN),
        Call("GET /v1/chunks/{chunk_id}", f"/chunks/{quote(world.hidden_chunk, safe='').replace('.', '%2E')}"),
        *(Call("GET /v1/graph/entities", f"/graph/entities?{asked}") for asked in ("limit=2", "name=zq", "name=h")),
        *(Call("GET /v1/graph/entities/{entity_id}", f"/graph/entities/{one}") for one in ids),
        *(Call("GET /v1/graph/neighbourhood", f"/graph/neighbourhood?entity={one}") for one in ids),
        *(Call("POST /v1/graph/paths", "/graph/paths", {"entities": pair}) for pair in ends),
        *(Call("POST /v1/graph/reach", "/graph/reach", {"entity": name, "depth": 4}) for name in named),
        Call("GET /v1/jobs", "/jobs?limit=1"),
        Call("GET /v1/jobs", "/jobs"),
        Call("GET /v1/jobs/{job_id}", f"/jobs/{world.hidden_job}"),
        Call("DELETE /v1/jobs/{job_id}", f"/jobs/{world.hidden_job}"),
        Call("GET /v1/jobs/{job_id}/events", f"/jobs/{world.hidden_job}/events"),
        Call("POST /v1/jobs/pause", "/jobs/pause"),
        Call("POST /v1/jobs/resume", "/jobs/resume"),
        Call("GET /v1/failures", "/failures"),
        Call("POST /v1/failures/retry", "/failures/retry"),
        Call("GET /v1/stale", "/stale?limit=1"),
        Call("POST /v1/reindex", "/reindex"),
        Call("GET /v1/skill-graphs", "/skill-graphs", is_live=True),
        Call("POST /v1/skill-graphs/check", "/skill-graphs/check", {"declaration": GRAPH}),
        Call("PUT /v1/skill-graphs/{name}", "/skill-graphs/mine", {"declaration": GRAPH}, is_live=True),
        Call("DELETE /v1/skill-graphs/{name}", "/skill-graphs/nothing"),
        *(
            Call(f"GET /v1/skill-graphs/{{name}}{tail}", f"/skill-graphs/calls{tail}")
            for tail in ("", "/checkup", "/drawing")
        ),
        Call("POST /v1/skill-graphs/{name}/step", "/skill-graphs/calls/step", {"context": {"user_message": "herons"}}),
    ]


def _administering_calls(world: World) -> list[Call]:
    tenant = "/tenants/{tenant}"
    operations = ("GET /v1/operations/{operation_id}", "DELETE /v1/operations/{operation_id}")
    return [
        Call("GET /v1/tenants", "/tenants", is_live=True),
        Call("GET /v1/tenants/{tenant}", tenant),
        Call("PUT /v1/tenants/{tenant}", tenant, {}),
        Call("DELETE /v1/tenants/{tenant}", tenant),
        Call("GET /v1/tenants/{tenant}/usage", f"{tenant}/usage", is_live=True),
        Call("PUT /v1/tenants/{tenant}/quota", f"{tenant}/quota", {}),
        Call("GET /v1/export", "/export"),
        Call("POST /v1/import", "/import", {}),
        Call("POST /v1/verify", "/verify"),
        Call("POST /v1/verify/gone", "/verify/gone", {"text": "harbour"}),
        Call("POST /v1/repair", "/repair"),
        Call("POST /v1/compact", "/compact"),
        Call("GET /v1/operations", "/operations"),
        *(Call(operation, f"/operations/{world.operation}") for operation in operations),
        Call("GET /v1/operations/{operation_id}/events", f"/operations/{world.operation}/events"),
        Call("POST /v1/keys", "/keys", {"scopes": ["read"], "subjects": ["user:zqzedx"]}, is_live=True),
        Call("GET /v1/keys", "/keys", is_live=True),
        Call("DELETE /v1/keys/{key_id}", f"/keys/{world.hidden_key}"),
        Call("GET /v1/health", "/health"),
        Call("GET /v1/ready", "/ready"),
        Call("GET /v1/metrics", "/metrics", is_live=True),
        Call("GET /v1/info", "/info"),
    ]


def _traversal_calls(traversals: list[dict[str, Any]]) -> list[Call]:
    """Each traversal, about open things and about hidden ones."""
    calls: list[Call] = [Call("GET /v1/traversals", "/traversals")]
    for one in traversals:
        for entity, source, type_ in (("Harbour", "more.md", "document"), ("zqentityx", HIDDEN_ID, "zqkindx")):
            names = iter((entity, "Pier"))
            given = {
                parameter["name"]: next(names) if parameter["type"] == "ENTITY" else source
                for parameter in one["parameters"]
                if parameter["required"]
            }
            if any(parameter["name"] == "source_type" for parameter in one["parameters"]):
                given["source_type"] = type_
            calls.append(Call("POST /v1/traversals/{name}", f"/traversals/{one['name']}", {"parameters": given}))
            asked = str(httpx.QueryParams(given))
            calls.append(Call("GET /v1/traversals/{name}", f"/traversals/{one['name']}?{asked}"))
    return calls


def _scrubbed(value: object) -> object:
    """An answer without what is of the clock or of chance."""
    if isinstance(value, dict):
        items = cast("dict[str, object]", value).items()
        return {key: 0 if key in CLOCK else _scrubbed(one) for key, one in items}
    return [_scrubbed(one) for one in cast("list[object]", value)] if isinstance(value, list) else value


def _compared(call: Call, answer: httpx.Response) -> object:
    """What must be equal; ids of jobs are made anew in each tenant."""
    if call.is_live:
        return answer.status_code
    text = answer.text.replace("twinof-", "")
    if "/jobs" in call.path and answer.status_code == 200:
        text = re.sub(r'"(id|next)":"[^"]*"', r'"\1":"one"', text)
    is_json = "json" in answer.headers.get("content-type", "")
    return answer.status_code, _scrubbed(json.loads(text)) if is_json else text


def _crossed(call: Call, answer: httpx.Response) -> set[str]:
    """Canaries that the caller did not bring along."""
    return set(CANARY.findall(_words(answer))) - set(CANARY.findall(f"{call.path} {json.dumps(call.body)}"))


def _differs(call: Call, seen: httpx.Response, without: httpx.Response) -> bool:
    if seen.status_code in {500, *LATE} or _crossed(call, seen):
        return True
    return _compared(call, seen) != _compared(call, without)


def _words(answer: httpx.Response) -> str:
    """Everything that an answer says, with what is encoded in it."""
    said = f"{answer.text}\n{answer.headers}"
    for token in re.findall(r"[\w-]{8,}={0,2}", answer.text):
        try:
            said += base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode("utf-8", "ignore")
        except (binascii.Error, ValueError):
            continue
    return said.casefold()


async def test_a_hidden_source_changes_no_answer_of_any_operation_or_mode_and_no_word_of_it_crosses(
    world: World, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (access, tenants):  # what is known of keys and tenants is not read again under load
        monkeypatch.setattr(module, "FRESH_S", 600.0)
    document = (await api.http.get("/v1/openapi.json")).json()
    listed = {f"{verb.upper()} {path}" for path, verbs in document["paths"].items() for verb in verbs}
    traversals = _traversal_calls((await world.twin("GET", "/traversals")).json()["items"])
    reads, rest = [*_graph_calls(world), *traversals], _administering_calls(world)
    put = "PUT /v1/sources/{source_type}/{source_id}"  # tells a writer that the name is taken: see below
    assert {call.operation for call in (*reads, *rest)} == listed - {put}

    readers: list[tuple[Api, Api, list[Call]]] = []
    kinds = (("read", "write"), ["user:ana"], reads), (("read", "write", "admin"), ["user:ana"], rest)
    for scopes, subjects, calls in kinds:
        pair = [(await _key(one, *scopes, subjects=subjects))[1] for one in (world.operator, world.twin)]
        readers.append((pair[0], pair[1], calls))
    readers.append((world.operator.acting_for("user:ana"), world.twin.acting_for("user:ana"), [*reads, *rest]))
    _, others = await _key(world.other, "read", "write", "admin", subjects=None)

    gate = asyncio.Semaphore(CALLERS)

    async def made(caller: Api, call: Call) -> httpx.Response:
        async with gate:
            return await caller(call.method, call.path.format(tenant=caller.tenant), json=call.body)

    # Mixed: the owner, whose answers are full of canaries, and another tenant's administrator ask at the same time.
    jobs = [(caller, call) for here, there, calls in readers for call in calls for caller in (here, there)]
    mixed = [(caller, call) for caller in (world.zed, others) for call in reads if "source_id}" not in call.operation]
    order = [*jobs, *(one for one in mixed if not one[1].is_live and one[1].path not in WORKS)]
    random.Random(7).shuffle(order)
    answers = dict(zip(map(repr, order), await asyncio.gather(*(made(*one) for one in order)), strict=True))
    for one in order:
        if answers[repr(one)].status_code in LATE:  # too much at once for a machine under load
            answers[repr(one)] = await made(*one)

    judged = [
        (call, answers[repr((here, call))], answers[repr((there, call))])
        for here, there, calls in readers
        for call in calls
    ]
    differing = [(call, seen.text, without.text) for call, seen, without in judged if _differs(call, seen, without)]
    assert not differing, differing
    told_owner = " ".join(_words(answers[repr(one)]) for one in mixed if one[0] is world.zed and repr(one) in answers)
    for kind in ("text", "title", "heading", "value", "entity", "relation", "fact", "description", "source", "failure"):
        assert f"zq{kind}x" in told_owner, kind
    told_others = [(one[1], answers[repr(one)]) for one in mixed if one[0] is others and repr(one) in answers]
    assert not [call for call, answer in told_others if any(word[:2] == "zq" for word in _crossed(call, answer))]


async def test_a_name_that_is_taken_by_a_hidden_source_is_all_that_a_writer_learns_of_it(world: World) -> None:
    _, ana = await _key(world.operator, "read", "write", subjects=["user:ana"])
    for caller in (ana, world.operator.acting_for("user:ana")):
        answer = await caller("PUT", HIDDEN, json={"text": "Mine."})
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
        assert set(CANARY.findall(_words(answer))) <= set(CANARY.findall(HIDDEN))
    assert (await world.zed("GET", HIDDEN)).status_code == 200


async def test_end_users_administer_nothing(api: Api) -> None:
    for path in ("/tenants", f"/tenants/{api.tenant}", "/keys", "/operations", "/metrics", "/info"):
        answer = await api.acting_for("user:ana")("GET", path)
        assert (answer.status_code, answer.json()["code"]) == (403, "not_allowed"), path


async def test_a_new_tenant_has_nothing_of_an_earlier_one_whose_deletion_was_cut_short(
    api: Api, neo4j_server: Neo4jAddress
) -> None:
    await api.put("a.txt", "Herons wait at the harbour.")
    async with open_driver(neo4j_server.bolt_uri, neo4j_server.user, neo4j_server.password) as driver:
        await driver.execute_query("MATCH (n:Tenant {key: $key}) DETACH DELETE n", key=f"{api.tenant}:tenant")
    assert (await api("PUT", f"/tenants/{api.tenant}", json={})).status_code == 200
    assert set((await api("GET", f"/tenants/{api.tenant}")).json()["counts"].values()) == {0}
    for mode in ("semantic", "keyword", "local"):
        assert await api.ask("herons", mode=mode) == []


async def test_a_tenant_that_is_being_worked_on_is_not_deleted(api: Api) -> None:
    await api.put("a.txt", "Herons wait at the harbour.")
    export = await api("GET", "/export")
    target = Api(api.http, f"{api.tenant}-in", **{**api.headers, "Knotwork-Tenant": f"{api.tenant}-in"})
    started = await target("POST", "/import", content=export.content)
    refused = await target("DELETE", f"/tenants/{target.tenant}")
    assert (refused.status_code, refused.json()["code"]) == (409, "maintenance_under_way")
    await target("GET", f"/operations/{started.json()['operation']['id']}/events")
    assert (await target("DELETE", f"/tenants/{target.tenant}")).status_code == 204
