"""One service for the session, over a real Neo4j and a real Edge store, with models that count their calls."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx
import pytest
import pytest_asyncio

from knotwork.adapters.memory.models import HashEmbedder, ReplayExtractor
from knotwork.adapters.neo4j.embedded import Neo4jAddress
from knotwork.adapters.neo4j.session import open_driver
from knotwork.api.serve import Service, serve
from knotwork.bootstrap import Models
from knotwork.config import Settings
from knotwork.services import access

UPLOAD_MB = 2
_tenants = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Running:
    """A service that is ready, and the models it uses."""

    service: Service
    settings: Settings
    embedder: HashEmbedder
    extractor: ReplayExtractor


class Api:
    """One tenant of the service, called as one caller."""

    def __init__(self, http: httpx.AsyncClient, tenant: str, **headers: str) -> None:
        self.http, self.tenant = http, tenant
        self.headers = {"Knotwork-Tenant": tenant} | headers

    async def __call__(self, method: str, path: str, **options: Any) -> httpx.Response:
        headers = self.headers | options.pop("headers", {})
        if (body := options.pop("json", None)) is not None:  # in ASCII: httpx cannot send a lone surrogate
            options["content"] = json.dumps(body)
            headers = {"Content-Type": "application/json"} | headers
        return await self.http.request(method, f"/v1{path}", headers=headers, **options)

    async def put(self, source_id: str, text: str, **body: Any) -> dict[str, Any]:
        """Put a text and wait; the job."""
        answer = await self("PUT", f"{address(source_id)}?wait=true", json={"text": text, **body})
        assert answer.status_code == 200, answer.text
        return answer.json()["job"]

    async def ask(self, query: str, **body: Any) -> list[dict[str, Any]]:
        answer = await self("POST", "/query", json={"query": query, **body})
        assert answer.status_code == 200, answer.text
        return answer.json()["passages"]

    async def cite(self, chunk_id: str) -> httpx.Response:
        return await self("GET", f"/chunks/{quote(chunk_id, safe='').replace('.', '%2E')}")

    def acting_for(self, *subjects: str) -> Api:
        return Api(self.http, self.tenant, **{**self.headers, "Knotwork-Subjects": ",".join(subjects)})

    def with_key(self, secret: str) -> Api:
        return Api(self.http, self.tenant, Authorization=f"Bearer {secret}")


def address(source_id: str, type_: str = "document") -> str:
    """A source's path; dots are encoded, since clients resolve `.` and `..`."""
    return f"/sources/{type_}/{quote(source_id, safe='/').replace('.', '%2E')}"


@pytest_asyncio.fixture(scope="session")
async def running(neo4j_server: Neo4jAddress, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Running]:
    settings = Settings(
        home=tmp_path_factory.mktemp("api-home"),
        neo4j_uri=neo4j_server.bolt_uri,
        neo4j_password=neo4j_server.password,  # type: ignore[arg-type] - pydantic makes it a secret
        upload_mb=UPLOAD_MB,
        import_mb=UPLOAD_MB,
        request_timeout_s=10,
        workers=1,
    )
    embedder, extractor = HashEmbedder(), ReplayExtractor()
    ready: asyncio.Future[Service] = asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(serve(settings, models=Models(embedder, extractor), on_ready=ready.set_result))
    await asyncio.wait({serving, ready}, return_when=asyncio.FIRST_COMPLETED)
    if serving.done():
        await serving
    yield Running(ready.result(), settings, embedder, extractor)
    serving.cancel()
    await asyncio.wait({serving})


@pytest_asyncio.fixture(scope="session")
async def http(running: Running) -> AsyncGenerator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=running.service.url, timeout=60) as client:
        yield client


@pytest_asyncio.fixture
async def api(running: Running, http: httpx.AsyncClient) -> Api:
    """The operator, in a tenant that no other test uses."""
    api = Api(http, f"t{next(_tenants)}", Authorization=f"Bearer {running.service.operator_token}")
    assert (await api("PUT", f"/tenants/{api.tenant}", json={})).status_code == 200
    return api


@pytest_asyncio.fixture
async def unguarded(running: Running, neo4j_server: Neo4jAddress, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if no key had ever been made."""
    monkeypatch.setattr(access, "FRESH_S", -1.0)
    async with open_driver(neo4j_server.bolt_uri, neo4j_server.user, neo4j_server.password) as driver:
        await driver.execute_query("MATCH (n:KeyGuard|ApiKey) DETACH DELETE n")


MakeKey = Callable[..., Awaitable[Api]]


@pytest_asyncio.fixture
async def key(api: Api) -> AsyncGenerator[MakeKey]:
    """Make a key of the test's tenant and call with it; keys go afterwards."""
    made: list[str] = []

    async def make(*scopes: str, subjects: list[str] | None = None) -> Api:
        answer = await api("POST", "/keys", json={"scopes": scopes, "subjects": subjects})
        assert answer.status_code == 201, answer.text
        made.append(answer.json()["id"])
        return api.with_key(answer.json()["secret"])

    yield make
    for key_id in made:
        await api("DELETE", f"/keys/{key_id}")


def facts(*triples: tuple[str, str, str]) -> dict[str, Any]:
    """A raw extraction of typed facts between concepts."""
    names = sorted({name for from_, _, to in triples for name in (from_, to)})
    return {
        "entities": [{"name": name, "type": "concept"} for name in names],
        "relationships": [{"from": from_, "type": type_, "to": to} for from_, type_, to in triples],
    }
