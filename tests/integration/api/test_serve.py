"""The life of the service: where it says it is, what it refuses, how it stops."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import stat
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from pydantic import SecretStr

from integration.api.conftest import Api, Running, address
from knotwork.adapters.memory.models import HashEmbedder
from knotwork.adapters.neo4j.embedded import Neo4jAddress
from knotwork.api.home_files import service_lock
from knotwork.api.serve import serve
from knotwork.bootstrap import Models
from knotwork.config import Settings
from knotwork.domain.retrieval import Mode
from knotwork.errors import SetupFailed

pytestmark = pytest.mark.neo4j

START_S = 90.0  # a process of its own on a machine that others use too
PYTHONPATH = os.pathsep.join(path for path in sys.path if path)
NO_GRAPH = Models(HashEmbedder(), None)


async def test_service_json_says_where_the_service_is_to_its_owner_only(running: Running) -> None:
    path = running.settings.home / "service.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    said = json.loads(path.read_text())
    assert said["url"] == running.service.url
    assert said["pid"] == os.getpid()
    assert said["pid_created"] == psutil.Process().create_time()
    assert said["operator_token"] == running.service.operator_token
    assert not (running.settings.home / "startup.json").exists()


async def test_a_second_service_of_a_home_is_refused_and_told_who_serves_it(running: Running) -> None:
    with pytest.raises(SetupFailed, match=f"process {os.getpid()} already serves"):
        await serve(running.settings, models=NO_GRAPH)
    assert (running.settings.home / "service.json").exists()


async def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SetupFailed, match=f"port {port} of 127.0.0.1 is taken"):
            await serve(Settings(home=tmp_path, port=port), models=NO_GRAPH)
    with service_lock(tmp_path):  # it is free again
        pass


@pytest.mark.usefixtures("unguarded")
async def test_an_open_network_without_a_key_is_refused(neo4j_server: Neo4jAddress, tmp_path: Path) -> None:
    settings = Settings(
        home=tmp_path,
        host="0.0.0.0",
        neo4j_uri=neo4j_server.bolt_uri,
        neo4j_password=SecretStr(neo4j_server.password),
    )
    with pytest.raises(SetupFailed, match="no API key exists"):
        await serve(settings, models=NO_GRAPH)
    assert not (tmp_path / "service.json").exists()


async def test_the_log_tells_of_requests_and_holds_no_secret(api: Api, running: Running) -> None:
    made = await api("POST", "/keys", json={"scopes": ["read"]})
    await api.with_key(made.json()["secret"])("POST", "/query", json={"query": "Phosphene?"})
    await api("DELETE", f"/keys/{made.json()['id']}")
    text = (running.settings.home / "logs" / "service.log").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    line = next(one for one in lines if one["event"] == "request" and one["tenant"] == api.tenant)
    assert {"method", "route", "status", "ms"} <= line.keys()
    assert any(one.get("route") == "/v1/keys/{key_id}" for one in lines)
    secrets = [made.json()["secret"], running.service.operator_token, "Phosphene"]
    secrets += [password.get_secret_value()] if (password := running.settings.neo4j_password) else []
    for secret in secrets:
        assert secret not in text


async def test_health_readiness_and_metrics_tell_what_they_see(api: Api, running: Running) -> None:
    await api.put("a.txt", "Herons wait.")
    health = (await api("GET", "/health")).json()
    assert health["status"] == "ok"
    assert set(health["parts"]) == {"neo4j", "vectors", "models"}
    assert running.embedder.id in health["parts"]["models"]["detail"]
    assert (await api.http.get("/v1/ready")).status_code == 200
    metrics = (await api("GET", "/metrics")).text
    put = '{method="PUT",route="/v1/sources/{source_type}/{source_id:name}",status="200"}'
    assert f"knotwork_requests_total{put}" in metrics
    for name in ('knotwork_runs{state="queued"}', 'knotwork_runs_over_total{state="done"}', "knotwork_failed_chunks"):
        assert name in metrics
    info = (await api("GET", "/info")).json()
    assert (info["embedder"], info["extractor"]) == (running.embedder.id, running.extractor.id)
    assert info["modes"] == [mode for mode in Mode if mode is not Mode.GLOBAL]


async def test_an_address_or_a_method_that_is_none_is_a_problem(api: Api) -> None:
    for method, path, status, code in (
        ("GET", "/nope", 404, "not_found"),
        ("GET", "/sources/", 404, "not_found"),
        ("DELETE", "/query", 405, "method_not_allowed"),
    ):
        answer = await api(method, path)
        assert (answer.status_code, answer.json()["code"]) == (status, code)
        assert answer.headers["content-type"] == "application/problem+json"


async def test_a_request_that_takes_too_long_is_ended(api: Api, running: Running) -> None:
    running.embedder.faults.hanging.add("a question that hangs")
    try:
        answer = await api("POST", "/query", json={"query": "a question that hangs", "mode": "semantic"})
    finally:
        running.embedder.faults.hanging.clear()
    assert (answer.status_code, answer.json()["code"]) == (504, "timed_out")


@asynccontextmanager
async def own_process(
    neo4j: Neo4jAddress, home: Path
) -> AsyncGenerator[tuple[asyncio.subprocess.Process, dict[str, Any]]]:
    """A service in its own process, and what its service.json says."""
    settings = {
        "KNOTWORK_HOME": str(home),
        "KNOTWORK_NEO4J_URI": neo4j.bolt_uri,
        "KNOTWORK_NEO4J_PASSWORD": neo4j.password,
    }
    env = {**os.environ, **settings, "PYTHONPATH": PYTHONPATH}
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "support.run_service", env=env)
    try:
        async with asyncio.timeout(START_S):
            while not (home / "service.json").exists():
                assert process.returncode is None
                await asyncio.sleep(0.1)
        yield process, json.loads((home / "service.json").read_text())
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_the_service_after_what_is_under_way(
    neo4j_server: Neo4jAddress, tmp_path: Path, number: signal.Signals
) -> None:
    async with own_process(neo4j_server, tmp_path) as (process, said):
        headers = {"Authorization": f"Bearer {said['operator_token']}"}
        async with httpx.AsyncClient(base_url=said["url"], headers=headers, timeout=60) as client:
            path = f"/v1{address(f'signal-{number}.txt')}?wait=true"
            under_way = asyncio.create_task(client.put(path, json={"text": "Herons wait."}))
            await asyncio.sleep(0.2)
            process.send_signal(number)
            assert (await under_way).status_code == 200
        assert await asyncio.wait_for(process.wait(), 30) == 0
    assert not (tmp_path / "service.json").exists()
    async with httpx.AsyncClient() as client:
        with pytest.raises(httpx.ConnectError):
            await client.get(said["url"])


async def test_a_signal_during_the_start_ends_it_without_an_error(tmp_path: Path) -> None:
    env = {
        **os.environ,
        "KNOTWORK_HOME": str(tmp_path),
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    # A server that accepts and never answers: the start waits for it.
    (tmp_path / "service.json").write_text('{"pid": 1}')  # what a service that was killed left behind
    with socket.create_server(("127.0.0.1", 0)) as silent:
        env |= {"KNOTWORK_NEO4J_URI": f"bolt://127.0.0.1:{silent.getsockname()[1]}", "KNOTWORK_NEO4J_PASSWORD": "x"}
        process = await asyncio.create_subprocess_exec(sys.executable, "-m", "support.run_service", env=env)
        async with asyncio.timeout(START_S):
            while not (tmp_path / "startup.json").exists():
                assert process.returncode is None
                await asyncio.sleep(0.05)
        said = json.loads((tmp_path / "startup.json").read_text())
        assert (said["text"], said["pid"]) == ("starting the platform", process.pid)
        assert not (tmp_path / "service.json").exists()
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 30) == 0
    assert not (tmp_path / "startup.json").exists()
