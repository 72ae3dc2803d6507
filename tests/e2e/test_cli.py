"""The command line against a real service, as a user runs it. One service serves the whole module."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from support.command_line import SAMPLES, TIMEOUT_S, CommandLine

pytestmark = pytest.mark.neo4j

DOCUMENTS = SAMPLES / "documents"


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory) -> Generator[CommandLine]:
    """A home whose service runs and holds the sample documents."""
    line = CommandLine(tmp_path_factory.mktemp("cli") / "home")
    try:
        line.run("ingest", str(DOCUMENTS))
        yield line
    finally:
        line.run("down", code=None)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "tree"
    path.mkdir()
    return path


def test_the_samples_are_indexed_and_a_second_ingest_changes_nothing(cli: CommandLine) -> None:
    report = cli.run("ingest", str(DOCUMENTS), "--json").document

    files = sum(path.is_file() for path in DOCUMENTS.rglob("*"))
    assert report["sources"]["indexed"] == report["sources"]["unchanged"] == files
    assert report["chunks"]["written"] == report["chunks"]["removed"] == 0
    assert report["chunks"]["unchanged"] > files
    assert report["graph"]["extraction_calls"] == 0
    assert "nothing changed" in cli.run("ingest", str(DOCUMENTS)).out


def test_the_same_tree_ingested_from_elsewhere_is_the_same_sources(cli: CommandLine, folder: Path) -> None:
    copy = folder / "services"
    copy.mkdir()
    (copy / "kestrel.md").write_bytes((DOCUMENTS / "services" / "kestrel.md").read_bytes())

    report = cli.run("ingest", str(copy), "--root", str(folder), "--json").document

    assert report["sources"]["unchanged"] == 1


def test_ask_shows_numbered_passages_and_what_led_to_them(cli: CommandLine) -> None:
    shown = cli.run("ask", "Who leads the team that owns Kestrel?").out

    assert "[1] " in shown
    assert "[2] " in shown
    assert "services/kestrel.md" in shown
    assert "led here: " in shown
    assert "\x1b" not in shown


@pytest.mark.parametrize("mode", ["semantic", "keyword", "hybrid", "local"])
def test_every_wired_mode_finds_the_passage(cli: CommandLine, mode: str) -> None:
    answer = cli.run("search", "What does KES-030 mean?", "--mode", mode, "--top-k", "3", "--json").document

    assert answer["mode"] == mode
    assert [passage["citation"] for passage in answer["passages"]] == [1, 2, 3]
    assert "services/kestrel.md" in {passage["source"]["id"] for passage in answer["passages"]}


def test_auto_says_which_mode_it_chose_and_why(cli: CommandLine) -> None:
    asked = cli.run("ask", "What does KES-030 mean?", "--mode", "auto")

    assert "services/kestrel.md" in asked.out
    assert "mode keyword: entry 'keyword' was chosen for this turn" in " ".join(asked.err.split())


def test_a_filter_and_a_floor_narrow_the_search(cli: CommandLine) -> None:
    only = cli.run("search", "Ledger", "--filter", "source_id=services/ledger.md", "--json").document
    none = cli.run("search", "Ledger", "--mode", "semantic", "--min-score", "0.999", "--json").document

    assert {passage["source"]["id"] for passage in only["passages"]} == {"services/ledger.md"}
    assert none["passages"] == []


def test_sources_are_listed_shown_and_deleted(cli: CommandLine, folder: Path) -> None:
    (folder / "fleeting.md").write_text("# Fleeting\n\nThe Heron team owns Osprey.\n")
    cli.run("ingest", str(folder / "fleeting.md"), "--metadata", "team=heron", "--metadata", "year:=2026")

    assert "document\tfleeting.md\tFleeting\t" in cli.run("sources").out
    source = cli.run("sources", "show", "fleeting.md", "--text", "--json").document
    assert source["metadata"] == {"team": "heron", "year": 2026}
    assert source["text"].endswith("The Heron team owns Osprey.")

    assert cli.run("sources", "delete", "fleeting.md", "--json").document == {
        "deleted": ["fleeting.md"],
        "problems": [],
    }
    gone = cli.run("sources", "show", "fleeting.md", code=1)
    assert "no source named 'fleeting.md'" in gone.err


def test_an_entity_is_shown_with_its_mentions_and_relationships(cli: CommandLine) -> None:
    found = cli.run("entity", "team:reliability team", "--json").document

    assert found["entity"]["name"] == "Reliability team"
    assert found["mentions"]
    assert {fact["type"] for fact in found["relationships"]} >= {"owns"}
    assert "Reliability team" in cli.run("entity", "reliab").out


def test_standard_input_becomes_a_source(cli: CommandLine) -> None:
    note = "Die Löwen-Gruppe betreut Zephyr.".encode("utf-16")

    cli.run("ingest", "-", "--name", "notes/zephyr.txt", "--subject", "group:sre", stdin=note)

    source = cli.run("sources", "show", "notes/zephyr.txt", "--text", "--json").document
    assert source["text"] == "Die Löwen-Gruppe betreut Zephyr."
    assert source["auth_subjects"] == ["group:sre"]


def test_every_row_of_a_corpus_becomes_a_source(cli: CommandLine, folder: Path) -> None:
    rows = [
        {"id": "row/1", "text": "Ada wrote the first program.", "title": "Ada", "year": 1843},
        {"id": "row ../2 ?#%", "text": "Grace found the first bug."},
    ]
    (folder / "people.jsonl").write_text("\n".join(map(json.dumps, rows)))

    report = cli.run("ingest", str(folder), "--type", "person", "--metadata", "origin=test", "--json").document

    assert report["sources"]["indexed"] == 2
    first = cli.run("sources", "show", "row/1", "--type", "person", "--json").document
    assert (first["title"], first["metadata"]) == ("Ada", {"year": 1843, "origin": "test"})
    assert cli.run("sources", "show", "row ../2 ?#%", "--type", "person", "--json").document["id"] == "row ../2 ?#%"


@pytest.mark.parametrize("name", ["../up", "a/../b", "a/./b", "a//b/", "/abs/é ü.md", "50%25", "?q#f", "😀"])
def test_any_source_id_survives_the_way_to_the_service_and_back(cli: CommandLine, name: str) -> None:
    cli.run("ingest", "-", "--name", name, "--type", "odd", "--no-graph", stdin=b"Some words.")

    assert cli.run("sources", "show", name, "--type", "odd", "--json").document["id"] == name


def test_a_bad_file_is_named_and_the_rest_goes_on(cli: CommandLine, folder: Path) -> None:
    (folder / "a-binary.txt").write_bytes(bytes(range(256)) * 20)
    (folder / "b-good.txt").write_text("The Otter team owns Brook.")

    result = cli.run("ingest", str(folder), "--type", "mixed", "--json", code=1)

    assert result.document["sources"]["indexed"] == 1
    assert [problem["id"] for problem in result.document["problems"]] == ["a-binary.txt"]
    assert result.document["problems"][0]["code"] == "unsupported_document"
    assert "failed: a-binary.txt: " in cli.run("ingest", str(folder), "--type", "mixed", code=1).err


def test_ctrl_c_stops_sending_and_loses_nothing_that_was_sent(cli: CommandLine, folder: Path) -> None:
    rows = 1000
    (folder / "many.jsonl").write_text(
        "\n".join(json.dumps({"id": f"{n:04}", "text": f"Row {n}."}) for n in range(rows))
    )

    def indexed() -> int:
        return len(cli.run("sources", "list", "--type", "many", "--json").document["items"])

    sending = cli.start("ingest", str(folder), "--type", "many", "--no-graph", "--json")
    while not indexed():
        assert sending.poll() is None
    os.kill(sending.pid, signal.SIGINT)
    out, err = sending.communicate(timeout=TIMEOUT_S)

    assert sending.returncode == 130
    told = json.loads(out)["sources"]
    assert told["sent"] + told["not_sent"] == rows
    assert told["sent"] == told["indexed"] + told["pending"]
    assert told["not_sent"] > 0
    assert "stopping: nothing more is sent" in err
    deadline = time.monotonic() + TIMEOUT_S
    while indexed() < told["sent"]:
        assert time.monotonic() < deadline
    assert indexed() == told["sent"]


def test_prune_deletes_what_is_gone_from_this_folder_and_nothing_else(cli: CommandLine, folder: Path) -> None:
    (folder / "stays.md").write_text("The Wren team owns Thicket.")
    (folder / "goes.md").write_text("The Wren team owns Hedge.")
    cli.run("ingest", str(folder), "--type", "pruned")
    cli.run("ingest", "-", "--name", "other.md", "--type", "pruned", stdin=b"From elsewhere.")
    (folder / "goes.md").unlink()

    kept = cli.run("ingest", str(folder), "--type", "pruned", "--json").document
    assert kept["sources"]["pruned"] == []
    report = cli.run("ingest", str(folder), "--type", "pruned", "--prune", "--json").document

    assert report["sources"]["pruned"] == ["goes.md"]
    left = cli.run("sources", "list", "--type", "pruned", "--json").document
    assert [source["id"] for source in left["items"]] == ["other.md", "stays.md"]


def test_tenants_are_made_kept_apart_and_deleted(cli: CommandLine) -> None:
    cli.run("tenants", "set", "acme", "--no-graph")
    cli.run("ingest", "-", "--name", "a.txt", "--tenant", "acme", stdin=b"Only Acme knows this.")

    assert cli.run("tenants", "list", "--json").document["items"] == ["acme", "default"]
    assert cli.run("tenants", "show", "acme", "--json").document["counts"]["sources"] == 1
    assert [one["id"] for one in cli.run("sources", "--tenant", "acme", "--json").document["items"]] == ["a.txt"]
    cli.run("tenants", "delete", "acme", "--yes")
    assert cli.run("tenants", "list", "--json").document["items"] == ["default"]


def test_keys_are_made_listed_and_deleted_while_the_operator_stays_in(cli: CommandLine) -> None:
    key = cli.run("keys", "create", "search page", "--scope", "read", "--subject", "group:sre", "--json").document
    try:
        assert key["secret"].startswith("kw_")
        assert "search page\tread\tgroup:sre" in cli.run("keys", "list").out
        assert cli.run("sources", "--json").document["items"]
    finally:
        cli.run("keys", "delete", key["id"])
    assert cli.run("keys", "list", "--json").document == {"items": []}


def test_status_tells_what_runs_and_how_much_there_is(cli: CommandLine) -> None:
    status = cli.run("status", "--json").document

    assert status["state"] == "running"
    assert status["pid"] == cli.service().pid
    assert status["counts"]["sources"] >= 26
    assert status["home"] == str(cli.home)


def test_browser_prints_the_login_of_neo4j_browser(cli: CommandLine) -> None:
    login = cli.run("browser", "--no-open", "--json").document

    assert login["url"].startswith("http://127.0.0.1:")
    assert login["user"] == "neo4j"
    assert login["password"] == (cli.home / "neo4j" / "password").read_text()


def test_doctor_finds_a_running_home_well(cli: CommandLine) -> None:
    report = cli.run("doctor", "--json").document

    assert report["well"]
    states = {check["name"]: check["state"] for check in report["checks"]}
    assert states["service"] == states["Neo4j"] == states["embedding model"] == states["packages"] == "ok"


def test_global_options_stand_before_or_after_the_command(cli: CommandLine) -> None:
    before = cli.run("--json", "--home", str(cli.home), "sources").document
    after = cli.run("sources", "list", "--home", str(cli.home), "--json").document

    assert before == after


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["ingest", "no/such/path"], 1, "no/such/path does not exist"),
        (["ask", "why?", "--mode", "sideways"], 2, "'sideways' is not one of"),
        (["ask", "why?", "--mode", "global"], 1, "not available"),
        (["ask", "   "], 1, "the query is empty"),
        (["sources", "show", "no-such"], 1, "no source named 'no-such'"),
        (["entity", "no such entity"], 1, "no entity's name begins with"),
        (["ingest", "-"], 2, "--name"),
        (["search", "x", "--filter", "nonsense"], 2, "'nonsense' is no key=value"),
        (["sources", "--tenant", "nobody"], 1, "tenant 'nobody' does not exist"),
        (["sources", "--tenant", "No Body"], 2, "is no tenant name"),
        (["frobnicate"], 2, "frobnicate"),
    ],
)
def test_a_mistake_is_answered_in_words(cli: CommandLine, words: list[str], code: int, said: str) -> None:
    result = cli.run(*words, code=code)

    assert said in result.err
    assert "Traceback" not in result.err
    assert result.out == ""


def test_with_json_a_failure_is_a_document_too(cli: CommandLine) -> None:
    result = cli.run("sources", "show", "no-such", "--json", code=1)

    assert result.document["error"]["code"] == "not_found"


def test_usage_is_shown_by_mode_and_a_quota_is_kept(cli: CommandLine) -> None:
    metered = ("--tenant", "metered")
    cli.run("tenants", "set", "metered")
    assert "no query" in cli.run("usage", *metered).err
    cli.run("search", "kestrel", "--mode", "semantic", *metered)
    cli.run("search", "kestrel", "--mode", "keyword", *metered)
    day, mode, model, queries, _, _ = cli.run("usage", *metered).out.splitlines()[-1].split("\t")
    assert (mode, model.split("/")[0], queries) == ("semantic", "minilm-l6-v2-int8", "1")
    assert cli.run("usage", "--since", day, "--json", *metered).document["month"]["queries"] == 2
    assert "as much as it likes" in cli.run("tenants", "quota", "metered").out
    assert "queries per day" in cli.run("tenants", "quota", "metered", "--queries-per-day", "2").out
    assert "2 of 2 queries per day used" in cli.run("usage", *metered).err
    assert "come again at" in cli.run("search", "kestrel", *metered, code=1).err
    cli.run("tenants", "quota", "metered", "--none")
    cli.run("search", "kestrel", *metered)
    cli.run("usage", "--since", "yesterday", code=2)
