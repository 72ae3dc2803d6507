"""`knotwork demo`: the first thing anybody runs."""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from collections.abc import Generator
from typing import IO

import pytest

from support.command_line import SAMPLES, TIMEOUT_S, CommandLine

pytestmark = pytest.mark.neo4j

FILES = sum(path.is_file() for path in (SAMPLES / "documents").rglob("*"))


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory) -> Generator[CommandLine]:
    line = CommandLine(tmp_path_factory.mktemp("demo") / "home")
    try:
        yield line
    finally:
        line.run("down", code=None)


def read_until(stream: IO[str] | None, words: str) -> str:
    """Read lines until one has these words; everything read."""
    assert stream is not None
    read = ""
    while words not in read:
        line = stream.readline()
        assert line, f"ended without {words!r}:\n{read}"
        read += line
    return read


def test_interrupted_finished_and_run_again_the_demo_loses_nothing_and_leaves_nothing_running(cli: CommandLine) -> None:
    # Ctrl-C in the midst of indexing.
    first = cli.start("demo")
    read_until(first.stderr, "indexing the sample documents")
    time.sleep(2)  # let it send something; whatever it is, it must not be lost
    os.kill(first.pid, signal.SIGINT)
    first.communicate(timeout=TIMEOUT_S)
    assert first.returncode == 130
    assert cli.processes() == []

    # The whole, to the answers.
    told = cli.run("demo", "--no-serve", "--json").document
    assert told["ingest"]["sources"]["indexed"] == FILES
    assert told["ingest"]["problems"] == []
    assert len(told["answers"]) == 3
    joined = told["answers"][0]
    asked = [json.loads(line) for line in (SAMPLES / "questions.jsonl").read_text().splitlines()]
    [question] = [one for one in asked if one["question"] == joined["question"]]
    assert joined["mode"] == "local"
    supporting = {evidence["source"] for evidence in question["supporting"]}
    assert len(supporting) >= 2
    assert supporting <= {passage["source"]["id"] for passage in joined["passages"]}
    assert cli.processes() == []

    # Again, and it stays up until Ctrl-C.
    again = cli.start("demo")
    read_until(again.stderr, "Press Ctrl-C")
    assert cli.service().is_running()
    os.kill(again.pid, signal.SIGINT)
    out, err = again.communicate(timeout=TIMEOUT_S)
    assert again.returncode == 0, err
    assert "nothing changed" in out
    assert "[1] " in out
    assert "names that join documents" in out
    assert "/docs" in out
    assert "Neo4j Browser" in out
    assert "\x1b" not in out
    assert cli.processes() == []


def test_the_demo_has_a_home_of_its_own_below_the_default_one(cli: CommandLine) -> None:
    with socket.socket() as taken:  # so that it ends at once, and names its home
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        result = cli.run("demo", code=1, KNOTWORK_HOME="", KNOTWORK_PORT=str(taken.getsockname()[1]))

    assert str(cli.home.parent / ".knotwork" / "demo" / "logs" / "service.log") in result.err
