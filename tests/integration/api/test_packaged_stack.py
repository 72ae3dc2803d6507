"""The service as it comes: packaged embedder and extractor, files in, a cited answer through the graph out."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from integration.api.conftest import Api, address
from knotwork.adapters.neo4j.embedded import Neo4jAddress
from knotwork.api.serve import Service, serve
from knotwork.config import Settings

pytestmark = pytest.mark.neo4j


async def test_two_documents_answer_together_what_neither_says(neo4j_server: Neo4jAddress, tmp_path: Path) -> None:
    settings = Settings(
        home=tmp_path, neo4j_uri=neo4j_server.bolt_uri, neo4j_password=SecretStr(neo4j_server.password), workers=1
    )
    ready: asyncio.Future[Service] = asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(serve(settings, on_ready=ready.set_result))
    await asyncio.wait({serving, ready}, return_when=asyncio.FIRST_COMPLETED)
    if serving.done():
        await serving
    service = ready.result()
    async with httpx.AsyncClient(base_url=service.url, timeout=120) as http:
        api = Api(http, "packaged", Authorization=f"Bearer {service.operator_token}")
        assert (await api("PUT", "/tenants/packaged", json={})).status_code == 200
        pages = {
            "teams.html": "<h1>Teams</h1><p>The payments team owns the Ledger service.</p>",
            "services.md": "# Services\n\nThe Ledger service depends on the retry budget.",
        }
        for name, text in pages.items():
            answer = await api("PUT", f"{address(name)}?wait=true", files={"file": (name, text.encode())})
            assert answer.status_code == 200, answer.text
            assert answer.json()["job"]["result"]["graph"]["relationships"] >= 1
        passages = await api.ask("What does the service of the payments team depend on?", mode="local")
        assert {passage["source"]["id"] for passage in passages} == set(pages)
        assert any(passage["metadata"]["relationships"] for passage in passages)
        for passage in passages:
            assert (await api.cite(passage["id"])).json()["verified"] is True
        await api("DELETE", "/tenants/packaged")
    serving.cancel()
    await asyncio.wait({serving})
