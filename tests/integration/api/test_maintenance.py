"""Export, import, verify, repair and compact over REST, as an administrator and as others."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any
from xml.etree import ElementTree as ET

import httpx
import pytest

from integration.api.conftest import UPLOAD_MB, Api, MakeKey, Running, address, facts
from knotwork.adapters.neo4j.embedded import Neo4jAddress
from knotwork.adapters.neo4j.session import open_driver
from knotwork.ports.models import Extraction, ExtractionInput

pytestmark = pytest.mark.neo4j

ROUTES = [
    ("GET", "/export", None),
    ("POST", "/import", None),
    ("POST", "/verify", None),
    ("POST", "/verify/gone", {"text": "word"}),
    ("POST", "/repair", None),
    ("GET", "/operations", None),
    ("POST", "/compact", None),
]
_others = itertools.count(1)


async def finished(api: Api, answer: httpx.Response) -> dict[str, Any]:
    """The operation that began with this answer, once its events say that it is over."""
    assert answer.status_code == 202, answer.text
    operation = answer.json()["operation"]
    assert answer.headers["location"] == f"/v1/operations/{operation['id']}"
    events = (await api("GET", f"/operations/{operation['id']}/events")).text
    kind, data = [block.splitlines() for block in events.split("\n\n") if block and block[0] != ":"][-1]
    assert kind == "event: done"
    over: dict[str, Any] = json.loads(data.removeprefix("data: "))
    assert (await api("GET", f"/operations/{operation['id']}")).json() == over
    return over


async def done(api: Api, method: str, path: str, **options: Any) -> dict[str, Any]:
    """The result of an operation."""
    over = await finished(api, await api(method, path, **options))
    assert over["state"] == "done", over
    return over["result"]


async def fill(api: Api, running: Running) -> None:
    running.extractor.answers["Kestrel calls Wren."] = facts(("Kestrel", "calls", "Wren"))
    await api.put("a/b c.md", "Kestrel calls Wren.", metadata={"year": 2020}, auth_subjects=["group:sre"])
    await api.put("😀.md", "Wren is a bird. Café.")


def elsewhere(api: Api) -> Api:
    """The same caller in a tenant that does not exist yet."""
    tenant = f"copy-{next(_others)}"
    return Api(api.http, tenant, **{**api.headers, "Knotwork-Tenant": tenant})


async def exported(api: Api, format_: str = "jsonl") -> bytes:
    answer = await api("GET", f"/export?format={format_}")
    assert answer.status_code == 200, answer.text
    assert int(answer.headers["content-length"]) == len(answer.content)
    return answer.content


async def test_an_export_with_its_vectors_is_restored_elsewhere_byte_for_byte_without_a_model(
    api: Api, running: Running
) -> None:
    await fill(api, running)
    export, vectors = await exported(api), await exported(api, "vectors")
    asked = (running.embedder.calls, running.extractor.calls)
    other = elsewhere(api)
    result = await done(other, "POST", "/import", content=export + vectors)
    assert (running.embedder.calls, running.extractor.calls) == asked
    assert result["sha256"] == json.loads(export.splitlines()[-1])["sha256"]
    assert (result["sources"], result["relationships"], result["embedded"]) == (2, 1, 0)
    assert (await exported(other), await exported(other, "vectors")) == (export, vectors)
    assert [one["id"] for one in await other.ask("Wren")] == [one["id"] for one in await api.ask("Wren")]
    again = await other("POST", "/import", content=export)
    assert (again.status_code, again.json()["code"]) == (409, "tenant_not_empty")
    third = elsewhere(api)
    assert (await done(third, "POST", "/import", content=export))["embedded"] > 0
    assert await exported(third, "vectors") == vectors


async def test_an_export_is_given_as_graphml_and_as_a_cypher_script(api: Api, running: Running) -> None:
    await fill(api, running)
    root = ET.fromstring(await exported(api, "graphml"))
    assert len([one for one in root.iter() if one.tag.endswith("}node")]) == 6
    script = (await exported(api, "cypher")).decode().splitlines()
    assert all(line.startswith(("MERGE", "CREATE CONSTRAINT")) for line in script)
    assert (await api("GET", "/export?format=pdf")).json()["code"] == "invalid_input"


async def test_a_damaged_import_is_refused_and_leaves_nothing(api: Api, running: Running) -> None:
    await fill(api, running)
    export, vectors = await exported(api), await exported(api, "vectors")
    for body in (
        export[: len(export) // 2],
        export.replace(b"a bird", b"a fish"),
        export + vectors[:-20],
    ):
        new = elsewhere(api)
        over = await finished(new, await new("POST", "/import", content=body))
        assert (over["state"], over["error"]["code"]) == ("failed", "export_damaged")
        assert (await new("GET", "/sources")).json()["code"] == "unknown_tenant"


async def test_an_import_that_fails_midway_takes_back_what_it_stored(api: Api, running: Running) -> None:
    await fill(api, running)
    export, vectors = await exported(api), await exported(api, "vectors")
    broken = export + b'"vector":"AAAA'.join(vectors.rsplit(b'"vector":"', 1))  # all else is stored when it is met
    new, empty = elsewhere(api), elsewhere(api)
    assert (await empty("PUT", f"/tenants/{empty.tenant}", json={"graph": False})).status_code == 200
    for other in (new, empty):
        over = await finished(other, await other("POST", "/import", content=broken))
        assert (over["state"], over["error"]["code"]) == ("failed", "export_damaged")
    assert (await new("GET", "/sources")).json()["code"] == "unknown_tenant"
    kept = (await empty("GET", f"/tenants/{empty.tenant}")).json()
    assert kept["settings"]["graph"] is False
    assert set(kept["counts"].values()) == {0}
    assert (await done(empty, "POST", "/verify"))["clean"]
    assert (await done(empty, "POST", "/import", content=export + vectors))["sources"] == 2


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 400, "export_damaged"),
        (b"\x00\xff no export", 400, "export_damaged"),
        (b'{"kind":"header","format":"knotwork-export","version":9,"settings":{}}\n', 400, "export_damaged"),
        (b"x" * (UPLOAD_MB * 1024 * 1024 + 1), 413, "upload_too_large"),
    ],
    ids=["nothing", "noise", "version 9", "large"],
)
async def test_what_is_no_export_is_refused_at_once(api: Api, body: bytes, status: int, code: str) -> None:
    answer = await api("POST", "/import", content=body)
    assert (answer.status_code, answer.json()["code"]) == (status, code)


async def test_a_tenant_that_is_not_there_has_no_export_and_no_bad_name(api: Api, running: Running) -> None:
    for method, path, body in ROUTES[:1] + ROUTES[2:5]:
        answer = await elsewhere(api)(method, path, json=body)
        assert (answer.status_code, answer.json()["code"]) == (404, "unknown_tenant")
    await fill(api, running)
    answer = await api("POST", "/import", content=await exported(api), headers={"Knotwork-Tenant": "../etc"})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input")


async def test_only_a_key_that_administers_every_source_may_and_only_the_operator_compacts(
    api: Api, key: MakeKey
) -> None:
    mine = await finished(api, await api("POST", "/verify"))
    writer, limited = await key("read", "write"), await key("admin", subjects=["group:sre"])
    for method, path, body in ROUTES:
        answer = await writer(method, path, json=body)
        assert (answer.status_code, answer.json()["code"]) == (403, "not_allowed"), path
        if path != "/operations":
            assert (await limited(method, path, json=body)).status_code == 403, path
        answer = await api.acting_for("group:sre")(method, path, json=body)
        assert (answer.status_code, path) == (403, path)
    assert (await limited("GET", "/operations")).json() == {"items": []}
    assert (await limited("GET", f"/operations/{mine['id']}")).status_code == 404
    admin = await key("admin")
    assert (await done(admin, "POST", "/verify"))["clean"]
    assert (await admin("POST", "/compact")).json()["code"] == "not_allowed"
    assert mine["id"] in {one["id"] for one in (await admin("GET", "/operations")).json()["items"]}
    other = Api(api.http, "default", **as_default(api))
    foreign = (await finished(other, await other("POST", "/verify")))["id"]
    for method, path in (("GET", ""), ("GET", "/events"), ("DELETE", "")):
        assert (await admin(method, f"/operations/{foreign}{path}")).status_code == 404
    assert foreign not in {one["id"] for one in (await admin("GET", "/operations")).json()["items"]}


async def test_what_does_not_agree_is_found_mended_and_then_clean(
    api: Api, running: Running, neo4j_server: Neo4jAddress
) -> None:
    await fill(api, running)
    before = await exported(api)
    assert (await done(api, "POST", "/verify")) == {"clean": True, "counts": {}, "examples": []}
    async with open_driver(neo4j_server.bolt_uri, neo4j_server.user, neo4j_server.password) as driver:
        await driver.execute_query("MATCH (:Chunk)-[m:MENTIONS]->(:Entity {tenant: $t}) DELETE m", t=api.tenant)
    found = await done(api, "POST", "/verify")
    assert (found["clean"], found["counts"]["missing_entity"]) == (False, 1)
    assert {one["source"]["id"] for one in found["examples"] if one["kind"] == "missing_entity"} == {"a/b c.md"}
    mended = await done(api, "POST", "/repair")
    assert (mended["found"] > 0, mended["sources"], mended["left"]["clean"]) == (True, 1, True)
    assert (await done(api, "POST", "/verify"))["clean"]
    assert await exported(api) == before


async def test_a_repair_of_a_paused_tenant_is_refused_as_it_would_wait_for_ever(api: Api) -> None:
    await api("POST", "/jobs/pause")
    over = await finished(api, await api("POST", "/repair"))
    assert (over["state"], over["error"]["code"]) == ("failed", "invalid_input")
    assert "resume" in over["error"]["message"]
    await api("POST", "/jobs/resume")


async def test_a_text_is_looked_for_as_it_is_in_every_property(api: Api, running: Running) -> None:
    await fill(api, running)

    async def places(text: str) -> set[str]:
        report = await done(api, "POST", "/verify/gone", json={"text": text})
        return {one["where"].split()[0] for one in report["places"]}

    assert await places("kestrel  CALLS wren") == {"Neo4j", "Qdrant"}
    assert await places("cafe\u0301") == {"Neo4j", "Qdrant"}
    for absent in ("Kes.*l", "Kestrel|Wren", "[a-z]", "Condor", "\\", "' OR 1=1"):
        assert await places(absent) == set(), absent
    assert (await api("DELETE", f"{address('a/b c.md')}?wait=true")).status_code == 200
    assert await places("Kestrel") == set()
    for empty in ("", " \n\t"):
        answer = await api("POST", "/verify/gone", json={"text": empty})
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input")


async def test_the_operator_compacts_the_stores_of_this_home(api: Api, running: Running) -> None:
    await fill(api, running)
    (store,) = (await done(api, "POST", "/compact"))["stores"]  # Neo4j is one's own here
    assert store["store"] == "Qdrant Edge"
    assert store["after_bytes"] > 0
    assert (await done(api, "POST", "/verify"))["clean"]


async def test_two_at_once_are_refused_and_one_is_cancelled(
    api: Api, running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with busy(api, running, monkeypatch):
        first = (await api("POST", "/verify")).json()["operation"]
        for method, path, body in ROUTES[:1] + ROUTES[2:5] + ROUTES[6:]:
            answer = await api(method, path, json=body)
            assert (answer.status_code, answer.json()["code"], answer.json()["kind"]) == (
                409,
                "maintenance_under_way",
                "verify",
            ), path
        other = Api(api.http, "default", **as_default(api))
        assert (await done(other, "POST", "/verify"))["clean"] in {True, False}
        cancelled = (await api("DELETE", f"/operations/{first['id']}")).json()["operation"]
        assert cancelled["state"] == "cancelled"
        second = (await api("POST", "/verify")).json()["operation"]
    assert (await api("GET", f"/operations/{second['id']}/events")).text.count("event: done") == 1


async def test_a_caller_who_hangs_up_leaves_nothing_behind(
    api: Api, running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = listed(running)
    async with busy(api, running, monkeypatch):
        with pytest.raises(httpx.ReadTimeout):
            await api("GET", "/export", timeout=0.5)
        async with asyncio.timeout(10):
            while (answer := await api("POST", "/verify")).status_code == 409:  # noqa: ASYNC110 - a service tells nobody
                await asyncio.sleep(0.1)
        await api("DELETE", f"/operations/{answer.json()['operation']['id']}")
        with pytest.raises(httpx.WriteError):
            await api("POST", "/import", content=breaking_off())
    assert listed(running) == before


def listed(running: Running) -> Sequence[str]:
    return sorted(path.name for path in running.settings.home.iterdir())


def as_default(api: Api) -> dict[str, str]:
    return {**api.headers, "Knotwork-Tenant": "default"}


async def breaking_off() -> AsyncGenerator[bytes]:
    yield b'{"kind":"header"'
    raise httpx.WriteError("the caller is gone")


@asynccontextmanager
async def busy(api: Api, running: Running, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[None]:
    """A run of the tenant is under way inside the block, so that whoever wants it still waits."""
    text, extract = f"A chunk of {api.tenant} that takes a while.", running.extractor.extract
    begun, may_go_on = asyncio.Event(), asyncio.Event()

    async def slow(chunk: ExtractionInput) -> Extraction:
        if chunk.text == text:
            begun.set()
            await may_go_on.wait()
        return await extract(chunk)

    monkeypatch.setattr(running.extractor, "extract", slow)
    assert (await api("PUT", address("slow.txt"), json={"text": text})).status_code == 202
    await asyncio.wait_for(begun.wait(), 10)
    try:
        yield
    finally:
        may_go_on.set()
