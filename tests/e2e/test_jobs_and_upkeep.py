"""Jobs, failures and stale sources on the command line, as a user handles them."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from support.command_line import SAMPLES, TIMEOUT_S, CommandLine

pytestmark = pytest.mark.neo4j

DOCUMENT = SAMPLES / "documents" / "services" / "kestrel.md"


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory) -> Generator[CommandLine]:
    """A home whose service holds one document."""
    line = CommandLine(tmp_path_factory.mktemp("upkeep") / "home")
    try:
        line.run("ingest", str(DOCUMENT))
        yield line
    finally:
        line.run("down", code=None)


def until(found: Callable[[], Any]) -> Any:
    """What `found` finds, once it finds something."""
    deadline = time.monotonic() + TIMEOUT_S
    while not (value := found()):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    return value


def test_a_job_is_paused_cancelled_and_resumed(cli: CommandLine, tmp_path: Path) -> None:
    note = tmp_path / "note.md"
    note.write_text("Kestrel depends on Wren.", encoding="utf-8")
    assert "paused" in cli.run("jobs", "pause").out
    sending = cli.start("ingest", str(note))

    def queued() -> Any:
        return [job for job in cli.run("jobs", "--json").document["items"] if job["state"] == "queued"]

    (job,) = until(queued)
    assert "`knotwork jobs resume`" in cli.run("jobs", "list").err
    assert "is cancelled" in cli.run("jobs", "cancel", job["id"]).out
    out, err = sending.communicate(timeout=TIMEOUT_S)
    assert (sending.returncode, "cancelled" in out + err) == (1, True)
    assert cli.run("jobs", "resume", "--json").document == {"paused": False}
    cli.run("ingest", str(note))
    assert cli.run("jobs", "list", "-n", "1", "--json").document["items"][0]["state"] == "done"


def test_other_chunk_sizes_make_sources_stale_until_they_are_indexed_again(cli: CommandLine) -> None:
    assert cli.run("failures", "--json").document == {"items": []}
    assert "0 sources queued" in cli.run("failures", "--retry").out
    assert cli.run("stale", "--json").document == {"items": []}
    cli.run("down")
    stale = cli.run("stale", "--json", KNOTWORK_CHUNK_TOKENS="24", KNOTWORK_CHUNK_OVERLAP="4").document["items"]
    assert [(one["source"]["id"].rpartition("/")[2], one["reasons"]) for one in stale] == [("kestrel.md", ["chunks"])]
    assert "1 source queued" in cli.run("reindex").out
    until(lambda: cli.run("stale", "--json").document == {"items": []})
    assert cli.run("reindex", "--all", "--json").document["queued"] >= 1
