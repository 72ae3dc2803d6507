"""Neo4j killed, and hanging, under a whole platform: writes wait, reads say what is missing, nothing is lost."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
import pytest_asyncio

from knotwork.adapters.memory.models import HashEmbedder
from knotwork.adapters.neo4j.embedded import EmbeddedNeo4j
from knotwork.api.app import create_app
from knotwork.bootstrap import Models, Platform, open_platform
from knotwork.config import Settings
from knotwork.domain.model import TenantId
from support.stack import SentenceExtractor

pytestmark = pytest.mark.neo4j

HANG_S = float(os.environ.get("KNOTWORK_OUTAGE_S", "5"))
DOCUMENTS = {
    f"{number}.md": f"Checkout calls Ledger{number}. Ledger{number} stores Payments. Every order of the shop goes so."
    for number in range(24)
}
TOKEN = "operator"


@dataclass(frozen=True, slots=True)
class Running:
    """A platform with a Neo4j of its own, and a client of its REST interface."""

    platform: Platform
    server: EmbeddedNeo4j
    http: httpx.AsyncClient

    async def __call__(self, tenant: str, method: str, path: str, json: object = None) -> httpx.Response:
        return await self.http.request(method, f"/v1{path}", headers={"Knotwork-Tenant": tenant}, json=json)

    async def put(self, tenant: str, id_: str, text: str) -> str:
        """Put a text; its job, accepted."""
        answer = await self(tenant, "PUT", f"/sources/document/{id_}", json={"text": text})
        assert answer.status_code == 202, answer.text
        return answer.json()["job"]["id"]

    async def settled(self, tenant: str) -> None:
        async with asyncio.timeout(240):
            await self.platform.intake.settle(TenantId(tenant))

    async def state(self, tenant: str) -> str:
        return await self.platform.exporter.state(TenantId(tenant))

    async def query(self, tenant: str, mode: str) -> httpx.Response:
        return await self(tenant, "POST", "/query", json={"query": "Checkout calls Ledger3", "mode": mode})

    async def pid(self) -> int:
        address = (await self.server.status()).address
        assert address is not None
        return address.pid


@pytest_asyncio.fixture(scope="module")
async def running(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Running]:
    cache = os.environ.get("KNOTWORK_NEO4J_CACHE")
    home = tmp_path_factory.mktemp("outage-home")
    settings = Settings(home=home, neo4j_cache=Path(cache) if cache else None, neo4j_heap_mb=512, workers=1)
    models = Models(HashEmbedder(), SentenceExtractor())
    async with open_platform(settings, models=models) as platform:
        transport = httpx.ASGITransport(create_app(platform, operator_token=TOKEN))
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with httpx.AsyncClient(
            transport=transport, base_url="http://127.0.0.1", timeout=90, headers=headers
        ) as http:
            running = Running(platform, EmbeddedNeo4j(home), http)
            for tenant in ("clean", "killed", "hanging"):
                assert (await running(tenant, "PUT", f"/tenants/{tenant}", json={})).status_code == 200
            for id_, text in DOCUMENTS.items():
                await running.put("clean", id_, text)
            await running.settled("clean")
            yield running


async def change_all(running: Running, tenant: str) -> list[str]:
    """Bring the tenant by detours to what `clean` holds; the jobs."""
    jobs = [await running.put(tenant, id_, f"{text} Wallet calls Vault.") for id_, text in DOCUMENTS.items()]
    deleted = await running(tenant, "DELETE", "/sources/document/0.md")
    assert deleted.status_code == 202, deleted.text
    jobs.append(deleted.json()["job"]["id"])
    return jobs + [await running.put(tenant, id_, text) for id_, text in DOCUMENTS.items()]


async def ended(running: Running, tenant: str, jobs: list[str]) -> None:
    """See that the jobs are all done, and that the tenant is as it would be without an outage."""
    await running.settled(tenant)
    states = [(await running(tenant, "GET", f"/jobs/{job}")).json()["state"] for job in jobs]
    assert set(states) == {"done"}
    assert await running.state(tenant) == await running.state("clean")
    report = await running.platform.verifier.verify(TenantId(tenant))
    assert report.is_clean, report


async def test_neo4j_killed_under_load_comes_back_and_everything_accepted_is_done(running: Running) -> None:
    first = [await running.put("killed", id_, text) for id_, text in list(DOCUMENTS.items())[:8]]
    os.kill(await running.pid(), signal.SIGKILL)
    jobs = await change_all(running, "killed")
    await ended(running, "killed", first + jobs)
    assert (await running("killed", "GET", "/health")).json()["status"] == "ok"


async def test_while_neo4j_hangs_writes_wait_and_reads_say_what_is_missing(running: Running) -> None:
    for id_, text in DOCUMENTS.items():
        await running.put("hanging", id_, text)
    await running.settled("hanging")
    pid = await running.pid()
    os.kill(pid, signal.SIGSTOP)
    stopped = time.monotonic()
    try:
        some = list(DOCUMENTS.items())[:6]  # each waits moments to hear that Neo4j is silent
        jobs = [await running.put("hanging", id_, f"{text} Fraud blocks Orders.") for id_, text in some]
        jobs += [await running.put("hanging", id_, text) for id_, text in some]
        job = (await running("hanging", "GET", f"/jobs/{jobs[-1]}")).json()
        assert job["state"] == "queued"
        for mode in ("semantic", "keyword", "hybrid"):
            answer = await running.query("hanging", mode)
            assert (answer.status_code, bool(answer.json()["passages"])) == (200, True), mode
        local = await running.query("hanging", "local")
        assert (local.status_code, local.json()["code"], local.json()["store"]) == (503, "store_unavailable", "Neo4j")
        assert int(local.headers["Retry-After"]) > 0
        health = (await running("hanging", "GET", "/health")).json()
        assert (health["status"], health["parts"]["neo4j"]["ok"], health["parts"]["vectors"]["ok"]) == (
            "degraded",
            False,
            True,
        )
        await asyncio.sleep(max(0.0, HANG_S - (time.monotonic() - stopped)))
    finally:
        os.kill(pid, signal.SIGCONT)
    await ended(running, "hanging", jobs)
    assert (await running.query("hanging", "local")).status_code == 200
    usage = (await running("hanging", "GET", "/tenants/hanging/usage")).json()["items"]
    assert {row["mode"]: row["queries"] for row in usage} == {"semantic": 1, "keyword": 1, "hybrid": 1, "local": 1}
