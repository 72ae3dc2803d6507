"""Sources over REST: put in every form, list, read, change, delete."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from integration.api.conftest import UPLOAD_MB, Api, Running, address, facts

pytestmark = pytest.mark.neo4j

ODD_IDS = (
    "./data/x y.txt",
    "a/../b",
    "..",
    "/leading//double/",
    "dir/",
    "📄/emoji 🧵.md",
    "x" * 4096,
    "文" * 1365,
    "what?.txt",
    "a#b",
    "100%2F",
    "a:b::c",
    "line\nbreak\n",
    "tab\tand\\back",
    "'\"`${}",
)


@pytest.mark.parametrize("source_id", ODD_IDS, ids=lambda one: ascii(one)[:20])
async def test_a_source_of_any_id_is_put_read_listed_cited_and_deleted(api: Api, source_id: str) -> None:
    job = await api.put(source_id, "Otters hold hands while they sleep.")
    assert job["source"] == {"type": "document", "id": source_id}
    source = (await api("GET", f"{address(source_id)}?text=true")).json()
    assert (source["id"], source["text"]) == (source_id, "Otters hold hands while they sleep.")
    listed = (await api("GET", "/sources")).json()
    assert [item["id"] for item in listed["items"]] == [source_id]
    (passage,) = await api.ask("otters")
    assert (await api.cite(passage["id"])).json()["verified"] is True
    assert (await api("DELETE", f"{address(source_id)}?wait=true")).status_code == 200
    assert (await api("GET", address(source_id))).status_code == 404


async def test_two_odd_ids_are_two_sources(api: Api) -> None:
    for number, source_id in enumerate(ODD_IDS[:6]):
        await api.put(source_id, f"Text number {number}.")
    listed = (await api("GET", "/sources")).json()["items"]
    assert sorted(item["id"] for item in listed) == sorted(ODD_IDS[:6])


@pytest.mark.parametrize(
    ("path", "code"),
    [
        (f"/sources/document/{'x' * 4097}", "invalid_input"),
        ("/sources/document/", "invalid_input"),
        ("/sources/Big Type/x", "invalid_input"),
        (f"/sources/{'t' * 65}/x", "invalid_input"),
    ],
)
async def test_a_name_that_cannot_be_kept_is_refused_with_the_reason(api: Api, path: str, code: str) -> None:
    answer = await api("PUT", path, json={"text": "hello"})
    assert (answer.status_code, answer.json()["code"]) == (400, code)
    assert answer.headers["content-type"] == "application/problem+json"


async def test_the_refusal_of_a_type_names_its_normal_form(api: Api) -> None:
    answer = await api("PUT", "/sources/Incident%20Report/x", json={"text": "hello"})
    assert "'incident-report'" in answer.json()["detail"]


async def test_a_put_is_accepted_at_once_and_its_job_found_under_the_location(api: Api) -> None:
    answer = await api("PUT", address("a.txt"), json={"text": "Herons wait."})
    assert answer.status_code == 202
    job = answer.json()["job"]
    assert answer.headers["location"] == f"/v1/jobs/{job['id']}"
    assert (await api("GET", f"/jobs/{job['id']}/events")).text.rpartition("event: ")[2].startswith("done\n")
    found = (await api("GET", f"/jobs/{job['id']}")).json()
    assert found["result"]["written"] == 1
    assert found["result"]["graph"]["ran"] is True
    assert (await api("GET", "/jobs")).json()["items"][0] == found


async def test_a_form_a_raw_body_and_json_give_the_same_source(api: Api) -> None:
    text = "# Herons\n\nHerons wait in shallow water."
    about: dict[str, Any] = {"metadata": {"team": "birds", "year": 2024}, "auth_subjects": ["group:a"], "graph": False}
    form = {"metadata": json.dumps(about["metadata"]), "auth_subjects": '["group:a"]', "graph": "false"}
    await api("PUT", f"{address('json.md')}?wait=true", json={"text": text, **about})
    file = {"file": ("json.md", text.encode(), "text/markdown")}
    answer = await api("PUT", f"{address('form.md')}?wait=true", files=file, data=form)
    assert answer.status_code == 200, answer.text
    raw = await api(
        "PUT",
        f"{address('raw.md')}?wait=true",
        params={"wait": "true", **form},
        content=text.encode(),
        headers={"Content-Type": "text/markdown"},
    )
    assert raw.status_code == 200, raw.text
    sources = [(await api("GET", address(name))).json() for name in ("json.md", "form.md", "raw.md")]
    for source in sources:
        del source["id"]
    assert sources[0] == sources[1] == sources[2]
    assert sources[0]["headings"] == [{"start": 0, "level": 1, "text": "Herons"}]
    assert sources[0]["metadata"] == about["metadata"]
    assert sources[0]["graph"] is False


async def test_a_second_put_replaces_everything(api: Api) -> None:
    await api.put("a.txt", "Herons wait.", metadata={"team": "birds"}, auth_subjects=["group:a"], title="Old")
    job = await api.put("a.txt", "Newts swim.")
    assert (job["result"]["written"], job["result"]["removed"]) == (1, 1)
    source = (await api("GET", address("a.txt"))).json()
    assert (source["metadata"], source["auth_subjects"], source["title"]) == ({}, ["*"], "a")
    assert [passage["text"] for passage in await api.ask("herons")] == ["Newts swim."]


async def test_the_same_put_again_costs_no_call_of_a_model(api: Api, running: Running) -> None:
    await api.put("a.txt", "Herons wait by the weir.")
    calls = running.embedder.calls, running.extractor.calls
    await api.put("a.txt", "Herons wait by the weir.")
    assert (running.embedder.calls, running.extractor.calls) == calls


@pytest.mark.parametrize(
    ("content", "type_", "status", "code"),
    [
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4, "image/png", 415, "unsupported_document"),
        (bytes(range(256)) * 40, "text/plain", 415, "unsupported_document"),
        (b"%PDF-1.7 broken", "application/pdf", 415, "unsupported_document"),
        (b"PK\x03\x04 not a zip", "application/zip", 415, "unsupported_document"),
        (b'{"text": ', "application/json", 400, "invalid_input"),
        (b'{"title": "no text"}', "application/json", 400, "invalid_input"),
        (b'{"text": "x", "colour": "red"}', "application/json", 400, "invalid_input"),
        (b'{"text": "x", "metadata": {"a": {"b": 1}}}', "application/json", 400, "invalid_input"),
        (b'{"text": "x", "metadata": {"a": [1, "b"]}}', "application/json", 400, "invalid_input"),
        (b'{"text": "x", "metadata": {"a": 1e999}}', "application/json", 400, "invalid_input"),
        (b'{"text": "x", "metadata": {"a": 99999999999999999999}}', "application/json", 400, "invalid_input"),
        (b'{"text": "x", "auth_subjects": []}', "application/json", 400, "invalid_input"),
        (b'{"text": "x", "auth_subjects": ["a,b"]}', "application/json", 400, "invalid_input"),
        (b"[" * 100_000, "application/json", 400, "invalid_input"),
        (b"no boundary", "multipart/form-data", 400, "invalid_input"),
    ],
)
async def test_what_cannot_be_read_is_refused_and_leaves_nothing(
    api: Api, content: bytes, type_: str, status: int, code: str
) -> None:
    answer = await api("PUT", address("a"), content=content, headers={"Content-Type": type_})
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    assert (await api("GET", "/sources")).json() == {"items": [], "next": None}
    assert (await api("GET", "/jobs")).json()["items"] == []


async def test_a_form_without_a_file_is_refused(api: Api) -> None:
    answer = await api("PUT", address("a"), files={"other": ("a.txt", b"text", "text/plain")})
    assert answer.json()["detail"].startswith("the form has no file")


async def test_an_upload_over_the_limit_is_refused_by_its_declared_size_and_by_counting(api: Api) -> None:
    body = b"word " * (UPLOAD_MB * 300_000)

    async def parts() -> Any:
        for start in range(0, len(body), 65_536):
            yield body[start : start + 65_536]

    for content in (body, parts()):
        answer = await api("PUT", address("big.txt"), content=content, headers={"Content-Type": "text/plain"})
        assert (answer.status_code, answer.json()["code"]) == (413, "upload_too_large")
    file = {"file": ("big.txt", body, "text/plain")}
    assert (await api("PUT", address("big.txt"), files=file)).status_code == 413
    assert (await api("POST", "/query", json={"query": "x" * 2_000_000})).status_code == 413


async def test_an_empty_document_is_a_source_without_chunks(api: Api) -> None:
    await api.put("a.txt", "Herons wait.")
    job = await api.put("a.txt", "  \n ")
    assert job["result"]["removed"] == 1
    assert (await api("GET", address("a.txt"))).json()["chunks"] == 0
    assert await api.ask("herons") == []


async def test_the_list_is_paged_and_filtered(api: Api) -> None:
    for number in range(5):
        await api.put(f"{number}.txt", f"Text {number}.", metadata={"even": number % 2 == 0, "n": number})
    assert (await api("PUT", f"{address('m', 'memo')}?wait=true", json={"text": "Memo."})).status_code == 200
    seen: list[str] = []
    after: str | None = ""
    while after is not None:
        page = (await api("GET", "/sources", params={"limit": 2, **({"after": after} if after else {})})).json()
        seen += [item["id"] for item in page["items"]]
        after = page["next"]
    assert seen == ["0.txt", "1.txt", "2.txt", "3.txt", "4.txt", "m"]

    async def ids(**params: str) -> list[str]:
        return [item["id"] for item in (await api("GET", "/sources", params=params)).json()["items"]]

    assert await ids(type="memo") == ["m"]
    assert await ids(filter='{"n": {"gte": 2, "lte": 3}}') == ["2.txt", "3.txt"]
    assert await ids(filter='{"even": true}', type="document") == ["0.txt", "2.txt", "4.txt"]
    for bad in ("nonsense", "[]", '{"n": {"like": 1}}', '{"n": NaN}', '{"a b": 1}'):
        assert (await api("GET", "/sources", params={"filter": bad})).status_code == 400
    for bad in ("!", "e30", "W10", "WyJhIl0", "[" * 5000):
        assert (await api("GET", "/sources", params={"after": bad})).status_code == 400


@pytest.mark.parametrize("mode", ["semantic", "keyword", "hybrid", "local"])
async def test_a_change_of_readers_takes_effect_at_once_without_a_model(api: Api, running: Running, mode: str) -> None:
    text = f"Zephyrine owns the {mode} weir."
    running.extractor.answers[text] = facts(("Zephyrine", "owns", f"{mode} weir"))
    await api.put("a.txt", text, auth_subjects=["user:ana"], metadata={"team": "x"})
    ana, bob = api.acting_for("user:ana"), api.acting_for("user:bob")
    assert await ana.ask("zephyrine", mode=mode)
    assert await bob.ask("zephyrine", mode=mode) == []
    embedded, extracted = running.embedder.texts, running.extractor.calls
    change = {"auth_subjects": ["user:bob"], "metadata": {"team": "y"}}
    answer = await api("PATCH", f"{address('a.txt')}?wait=true", json=change)
    assert answer.status_code == 200, answer.text
    assert (running.embedder.texts, running.extractor.calls) == (embedded, extracted)
    assert await ana.ask("zephyrine", mode=mode) == []
    assert await bob.ask("zephyrine", mode=mode, filter={"team": "y"})
    assert await bob.ask("zephyrine", mode=mode, filter={"team": "x"}) == []
    assert (await ana("GET", "/graph/entities?name=zephyrine")).json()["items"] == []
    assert (await bob("GET", "/graph/entities?name=zephyrine")).json()["items"] != []


async def test_a_patch_of_the_flag_removes_the_graph_and_brings_it_back(api: Api, running: Running) -> None:
    text = "Quillon feeds the reservoir."
    running.extractor.answers[text] = facts(("Quillon", "feeds", "reservoir"))
    await api.put("a.txt", text)
    assert (await api("GET", "/graph/entities/concept:quillon")).status_code == 200
    job = (await api("PATCH", f"{address('a.txt')}?wait=true", json={"graph": False})).json()["job"]
    assert job["result"]["graph"]["pruned"] == 3
    assert (await api("GET", "/graph/entities/concept:quillon")).status_code == 404
    await api("PATCH", f"{address('a.txt')}?wait=true", json={"graph": None})
    assert (await api("GET", "/graph/entities/concept:quillon")).status_code == 200
    assert (await api("GET", address("a.txt"))).json()["graph"] is None


@pytest.mark.parametrize(
    "body", [{}, {"colour": 1}, {"auth_subjects": []}, {"metadata": {"a b": 1}}, {"graph": "maybe"}]
)
async def test_a_patch_that_says_nothing_of_use_is_refused(api: Api, body: dict[str, Any]) -> None:
    await api.put("a.txt", "Herons wait.")
    assert (await api("PATCH", address("a.txt"), json=body)).status_code == 400


async def test_what_is_not_there_is_not_found(api: Api) -> None:
    for method in ("GET", "DELETE"):
        assert (await api(method, address("nobody"))).json()["code"] == "not_found"
    assert (await api("PATCH", address("nobody"), json={"graph": True})).json()["code"] == "not_found"
    for path in ("/jobs/none", "/jobs/none/events", "/chunks/none", "/graph/entities/none", "/keys/none"):
        answer = await api("DELETE" if path == "/keys/none" else "GET", path)
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), path


async def test_a_deleted_source_is_readable_nowhere(api: Api, running: Running) -> None:
    canary = "Xylophagous"
    text = f"{canary} beetles eat the pier."
    running.extractor.answers[text] = facts((canary, "eats", "pier"))
    await api.put("a.txt", text, title=canary, metadata={"note": canary})
    await api.put("b.txt", "The pier stands.")
    assert (await api("DELETE", f"{address('a.txt')}?wait=true")).status_code == 200
    reads = [
        api("POST", "/query", json={"query": canary, "mode": m}) for m in ("semantic", "keyword", "hybrid", "local")
    ]
    reads += [api("GET", path) for path in ("/sources", "/jobs", "/graph/entities", f"/tenants/{api.tenant}")]
    for answer in await asyncio.gather(*reads):
        assert canary.lower() not in answer.text.lower(), answer.url
    counts = (await api("GET", f"/tenants/{api.tenant}")).json()["counts"]
    assert (counts["sources"], counts["chunks"], counts["entities"]) == (1, 1, 0)
