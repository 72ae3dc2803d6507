"""The embedded Neo4j killed under a service: what goes on, what is refused, what is said, and that it comes back."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from knotwork.adapters.neo4j.file_lock import exclusive
from knotwork.adapters.neo4j.process import MAIN_CLASS
from knotwork.services.access import FRESH_S
from support.command_line import TIMEOUT_S, CommandLine

pytestmark = pytest.mark.neo4j

FIRST_S = 5.0  # whoever finds out that Neo4j is away
LATER_S = 1.5  # everybody else: milliseconds, on a machine that others load
BELIEVED_S = FRESH_S + 0.1  # what is known of a tenant is believed that long, and nobody asks
COMMAND_S = 20.0  # a command on such a machine, most of it Python's own start


@pytest.fixture
def cli(tmp_path: Path) -> Generator[CommandLine]:
    line = CommandLine(tmp_path / "home")
    try:
        yield line
    finally:
        line.run("down", code=None)


@pytest.fixture
def http(cli: CommandLine) -> Generator[httpx.Client]:
    cli.run("up")
    said = json.loads((cli.home / "service.json").read_text())
    headers = {"Authorization": f"Bearer {said['operator_token']}"}
    with httpx.Client(base_url=f"{said['url']}/v1", headers=headers, timeout=30, trust_env=False) as client:
        yield client


def neo4j_of(cli: CommandLine) -> psutil.Process:
    return next(process for process in cli.processes() if MAIN_CLASS in process.cmdline())


def ask(http: httpx.Client, mode: str) -> httpx.Response:
    return http.post("/query", json={"query": "Who owns Aerie?", "mode": mode})


def put(http: httpx.Client, name: str, text: str) -> dict[str, Any]:
    answer = http.put(f"/sources/document/{name}?wait=true", json={"text": text})
    assert answer.status_code == 200, answer.text
    return answer.json()["job"]


def within(seconds: float, since: float) -> None:
    assert time.monotonic() - since < seconds


def test_while_neo4j_is_dead_text_is_searched_the_rest_is_refused_soon_and_then_it_is_back(
    cli: CommandLine, http: httpx.Client
) -> None:
    assert put(http, "note", "The Finch team owns Aerie.")["state"] == "done"
    assert ask(http, "local").status_code == 200
    assert ask(http, "keyword").json()["degraded"] == []
    service = json.loads((cli.home / "service.json").read_text())

    with exclusive(cli.home / "neo4j" / "start.lock", threading.Event()):  # so that it stays dead as long as we look
        neo4j_of(cli).send_signal(signal.SIGKILL)
        _see_what_is_refused(http)
        _see_what_goes_on(http)
        _see_what_commands_say(cli, service["browser_url"])

    deadline = time.monotonic() + TIMEOUT_S
    while http.get("/ready").status_code != 200:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert json.loads((cli.home / "service.json").read_text()) == service  # the same service, at the same addresses
    assert http.get("/sources").json()["items"]
    assert ask(http, "local").json()["passages"]
    assert put(http, "later", "The Heron team owns Burrow.")["state"] == "done"
    time.sleep(BELIEVED_S)
    assert ask(http, "keyword").json()["degraded"] == []
    cli.run("up")


def _see_what_is_refused(http: httpx.Client) -> None:
    for limit_s in (FIRST_S, LATER_S, LATER_S):
        started = time.monotonic()
        refused = http.get("/sources")
        within(limit_s, started)
        assert (refused.status_code, refused.json()["code"], refused.json()["store"]) == (
            503,
            "store_unavailable",
            "Neo4j",
        )
        assert int(refused.headers["Retry-After"]) > 0
    started = time.monotonic()
    local = ask(http, "local")
    within(LATER_S, started)
    assert (local.status_code, local.json()["store"]) == (503, "Neo4j")
    health = http.get("/health").json()
    assert (health["status"], [name for name, part in health["parts"].items() if not part["ok"]]) == (
        "degraded",
        ["neo4j"],
    )
    assert http.get("/ready").status_code == 503


def _see_what_goes_on(http: httpx.Client) -> None:
    time.sleep(BELIEVED_S)
    for mode in ("keyword", "semantic", "hybrid") * 2:
        started = time.monotonic()
        answer = ask(http, mode)
        within(LATER_S, started)
        assert answer.status_code == 200, answer.text
        assert answer.json()["passages"][0]["source"]["id"] == "note"
        assert answer.json()["degraded"] == ["neo4j"]
        time.sleep(0.7)  # some of them find the tenant's answer old, and some the last attempt


def _see_what_commands_say(cli: CommandLine, browser_url: str) -> None:
    started = time.monotonic()
    up = cli.run("up", code=1)
    assert browser_url not in up.out
    assert "neo4j: Neo4j does not answer: its process ended" in " ".join(up.err.split())
    within(COMMAND_S, started)
    started = time.monotonic()
    status = json.loads(cli.run("status", "--json").out)
    assert (status["status"], status["parts"]["neo4j"]["ok"]) == ("degraded", False)
    within(COMMAND_S, started)
    doctor = json.loads(cli.run("doctor", "--json", code=None).out)
    neo4j = next(check for check in doctor["checks"] if check["name"] == "Neo4j")
    assert neo4j["state"] == "fail"
