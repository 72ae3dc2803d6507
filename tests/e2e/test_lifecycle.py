"""Services begin, are shared, survive kills and end, as a user and the machine do it to them."""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from collections.abc import Callable, Generator
from pathlib import Path

import psutil
import pytest

from support.command_line import TIMEOUT_S, CommandLine

pytestmark = pytest.mark.neo4j


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory) -> Generator[CommandLine]:
    """A home of this module. Each test works from any state of it; their order spares starts."""
    line = CommandLine(tmp_path_factory.mktemp("lifecycle") / "home")
    try:
        yield line
    finally:
        line.run("down", code=None)


@pytest.fixture
def fresh(tmp_path: Path) -> Generator[CommandLine]:
    """A home that nobody has used."""
    line = CommandLine(tmp_path / "home")
    try:
        yield line
    finally:
        line.run("down", code=None)


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_four_starts_at_once_give_one_service_that_all_use(cli: CommandLine) -> None:
    cli.run("down")
    starts = [cli.start("up", "--json") for _ in range(4)]
    answers = [start.communicate(timeout=TIMEOUT_S) for start in starts]

    assert [start.returncode for start in starts] == [0] * 4, answers
    assert len({json.loads(out)["pid"] for out, _ in answers}) == 1
    assert json.loads(answers[0][0])["pid"] == cli.service().pid
    assert sum("serve" in process.cmdline() for process in cli.processes()) == 1


def test_after_a_kill_the_next_command_heals_the_home_and_adopts_its_neo4j(cli: CommandLine) -> None:
    cli.run("ingest", "-", "--name", "note.txt", "--no-graph", stdin=b"The Finch team owns Aerie.")
    service = cli.service()
    workers = service.children(recursive=True)
    [neo4j] = [process for process in workers if "CommunityEntryPoint" in " ".join(process.cmdline())]
    service.kill()
    service.wait(TIMEOUT_S)

    assert cli.run("status", "--json").document["state"] == "stopped"
    assert [source["id"] for source in cli.run("sources", "--json").document["items"]] == ["note.txt"]

    assert cli.service().pid != service.pid
    assert neo4j.is_running()
    wait_until(lambda: not any(worker.is_running() for worker in workers if worker != neo4j))


def test_a_service_of_another_version_is_named(cli: CommandLine) -> None:
    cli.run("up")
    path = cli.home / "service.json"
    record = path.read_text()
    path.write_text(json.dumps(json.loads(record) | {"version": "0.0.1"}))
    try:
        assert "the service is version 0.0.1" in cli.run("sources").err
    finally:
        path.write_text(record)


def test_homes_run_side_by_side(cli: CommandLine, fresh: CommandLine) -> None:
    one, other = cli.run("up", "--json").document, fresh.run("up", "--json").document

    assert one["url"] != other["url"]
    assert one["browser"] != other["browser"]
    fresh.run("down")
    assert cli.run("status", "--json").document["state"] == "running"


def test_down_leaves_no_process_not_even_the_neo4j_of_a_killed_service(cli: CommandLine) -> None:
    cli.run("up")
    workers = cli.service().children(recursive=True)
    assert workers
    cli.service().kill()

    stopped = cli.run("down", "--json").document

    assert stopped["neo4j"] is True
    assert cli.processes() == []
    wait_until(lambda: not any(worker.is_running() for worker in workers))
    assert "no service runs" in cli.run("down").out


def test_a_command_starts_the_service_it_needs_says_so_and_leaves_it_running(cli: CommandLine) -> None:
    cli.run("down")

    first = cli.run("sources", "--json")
    assert "items" in first.document
    assert "no service runs for" in first.err

    pid = cli.service().pid
    second = cli.run("sources", "--json")
    assert "no service runs for" not in second.err
    assert cli.service().pid == pid


def test_down_stops_a_service_in_order(cli: CommandLine) -> None:
    cli.run("up")
    service = cli.service()
    everything = [service, *service.children(recursive=True)]

    assert cli.run("down", "--json").document == {"service": service.pid, "killed": False, "neo4j": False}

    assert not any(process.is_running() for process in everything)
    assert cli.processes() == []
    assert cli.run("status", "--json").document["state"] == "stopped"
    assert not (cli.home / "service.json").exists()


def test_a_service_that_cannot_start_is_explained_in_words(fresh: CommandLine) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = fresh.run("up", code=1, KNOTWORK_PORT=str(port))

    assert f"port {port}" in result.err
    assert str(fresh.home / "logs" / "service.log") in result.err
    assert "Traceback" not in result.err
    assert fresh.processes() == []


def test_ctrl_c_during_a_start_leaves_nothing_behind(fresh: CommandLine) -> None:
    start = fresh.start("up")
    wait_until(lambda: start.poll() is not None or bool(_java(fresh)))
    os.kill(start.pid, signal.SIGINT)
    start.communicate(timeout=TIMEOUT_S)

    assert start.returncode == 130
    assert fresh.processes() == []


def test_status_and_doctor_start_nothing(fresh: CommandLine) -> None:
    assert fresh.run("status", "--json").document == {"state": "stopped", "home": str(fresh.home)}
    assert fresh.run("doctor", "--json").document["well"]
    assert not fresh.home.exists()


def _java(line: CommandLine) -> list[psutil.Process]:
    return [process for process in line.processes() if process.name() == "java"]
