"""A tenant's life on the command line: exported, edited, compared, deleted from, purged, restored elsewhere.

One home serves the whole story, so the tests of this file run in order.
"""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from support.command_line import TIMEOUT_S, CommandLine

pytestmark = pytest.mark.neo4j

# A word long and odd enough that no file holds it by chance.
SECRET = "Xanthoproteinuria-of-Vladimir-Krasnopolsky"
KEPT = "# Rota\n\nThe payments team owns the retry budget. Kestrel depends on Wren.\n"
NO_DAMAGE = {"clean": True, "counts": {}, "examples": []}


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory) -> Generator[CommandLine]:
    """A home whose service holds two notes, one of them with a secret."""
    folder = tmp_path_factory.mktemp("maintenance")
    line = CommandLine(folder / "home")
    (folder / "rota.md").write_text(KEPT, encoding="utf-8")
    (folder / "secret.md").write_text(f"{SECRET} befell Kestrel. Nobody had heard of {SECRET}.", encoding="utf-8")
    try:
        line.run("ingest", "rota.md", "secret.md")
        yield line
    finally:
        line.run("down", code=None)


@pytest.fixture(scope="module")
def folder(cli: CommandLine) -> Path:
    """The folder in which commands run."""
    return cli.home.parent


def holders(home: Path) -> list[str]:
    """The files of a home that hold the secret, as UTF-8 or UTF-16 in either order, in any case."""
    forms = [SECRET.lower().encode(encoding) for encoding in ("utf-8", "utf-16-le", "utf-16-be")]
    return [
        str(path.relative_to(home))
        for path in sorted(home.rglob("*"))
        if path.is_file() and any(form in path.read_bytes().lower() for form in forms)
    ]


def test_an_export_names_the_state_and_comes_in_three_forms(cli: CommandLine, folder: Path) -> None:
    first = cli.run("export", "a.jsonl", "--json").document
    lines = (folder / "a.jsonl").read_bytes().splitlines()
    assert first["sha256"] == json.loads(lines[-1])["sha256"]
    assert (first["lines"], first["vectors"]) == (len(lines), "a.jsonl.vectors")
    assert (folder / "a.jsonl.vectors").stat().st_size > 0
    assert first["sha256"] in cli.run("export", "a.jsonl", "--force", "--no-vectors").out
    refused = cli.run("export", "c.jsonl", "--tenant", "nobody", "--json", code=1)
    assert refused.document["error"]["code"] == "unknown_tenant"
    cli.run("export", "a.graphml", "--format", "graphml")
    cli.run("export", "a.cypher", "--format", "cypher")
    names = {path.name for path in folder.iterdir()}
    assert names == {"home", "rota.md", "secret.md", "a.jsonl", "a.jsonl.vectors", "a.graphml", "a.cypher"}


def test_a_difference_of_two_exports_is_told_in_words(cli: CommandLine, folder: Path) -> None:
    (folder / "rota.md").write_text(f"{KEPT}\nWren depends on Finch.\n", encoding="utf-8")
    cli.run("ingest", "rota.md")
    cli.run("export", "b.jsonl", "--no-vectors")
    told = cli.run("diff", "a.jsonl", "b.jsonl", code=1).out.splitlines()
    (source,) = [line for line in told if line.startswith("source ")]
    assert "text changed" in source
    assert "secret.md" not in source
    assert any(line.startswith("entity ") and "finch: added" in line for line in told)
    assert cli.run("diff", "a.jsonl", "b.jsonl", "--json", code=1).document == {"equal": False, "differences": told}
    (folder / "cut.jsonl").write_bytes((folder / "a.jsonl").read_bytes()[:-100])
    assert cli.run("diff", "a.jsonl", "cut.jsonl", "--json", code=1).document["error"]["code"] == "export_damaged"


def test_what_was_deleted_is_gone_from_the_stores_and_after_compacting_from_every_file(cli: CommandLine) -> None:
    assert cli.run("verify", "--json").document == NO_DAMAGE
    found = cli.run("verify", "--gone", SECRET.upper(), "--json", code=1).document
    assert {place["where"].split()[0] for place in found["places"]} == {"Neo4j", "Qdrant"}
    (source,) = [one for one in cli.run("sources", "--json").document["items"] if one["id"].endswith("secret.md")]
    cli.run("sources", "delete", source["id"])
    assert cli.run("verify", "--gone", SECRET, "--json").document == {"found": 0, "places": []}
    assert holders(cli.home) != []  # else what follows proves nothing
    stores = cli.run("compact", "--json").document["stores"]
    assert [store["store"] for store in stores] == ["Qdrant Edge", "Neo4j"]
    assert holders(cli.home) == []
    assert cli.run("repair", "--json").document == {"found": 0, "sources": 0, "rounds": 0, "left": NO_DAMAGE}
    assert "clean" in cli.run("verify").out


def test_an_import_is_the_same_state_elsewhere_and_a_damaged_one_leaves_nothing(cli: CommandLine, folder: Path) -> None:
    sha256 = cli.run("export", "c.jsonl", "--json").document["sha256"]
    edited = (folder / "c.jsonl").read_bytes().replace(b"payments", b"holidays")
    (folder / "edited.jsonl").write_bytes(edited)
    assert cli.run("import", "edited.jsonl", "--tenant", "copy", "--json", code=1).document["error"]["code"] == (
        "export_damaged"
    )
    assert cli.run("sources", "--tenant", "copy", "--json", code=1).document["error"]["code"] == "unknown_tenant"
    result = cli.run("import", "c.jsonl", "--tenant", "copy", "--json").document
    assert (result["sha256"], result["embedded"]) == (sha256, 0)
    cli.run("export", "d.jsonl", "--tenant", "copy")
    assert (folder / "d.jsonl").read_bytes() == (folder / "c.jsonl").read_bytes()
    assert (folder / "d.jsonl.vectors").read_bytes() == (folder / "c.jsonl.vectors").read_bytes()
    again = cli.run("import", "c.jsonl", "--tenant", "copy", "--json", code=1)
    assert again.document["error"]["code"] == "tenant_not_empty"
    assert sha256 in cli.run("import", "c.jsonl", "--tenant", "bare", "--no-vectors").out


def test_ctrl_c_leaves_no_file_and_no_operation(cli: CommandLine, folder: Path) -> None:
    before = {path.name for path in folder.iterdir()}
    for words in (["export", "e.jsonl"], ["verify"]):
        command = cli.start(*words)
        time.sleep(1.0)  # wherever it is then
        command.send_signal(signal.SIGINT)
        out, err = command.communicate(timeout=TIMEOUT_S)
        assert command.returncode in {0, 130}, (out, err)
        assert "Traceback" not in err
    assert {path.name for path in folder.iterdir()} - before <= {"e.jsonl", "e.jsonl.vectors"}
    assert cli.run("verify", "--json").document == NO_DAMAGE
