"""Traversals on the command line: parameters as they are typed, and what doctor says of files without a service."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from knotwork.adapters.files.saved_queries import write_saved_queries
from knotwork.cli.traversal_checks import in_short, refused_traversals
from knotwork.cli.traversals import parse_parameters

GOOD = """// Name: good
// Question: Which?
// Column: id STRING: an entity.
MATCH (e:Entity {tenant: $tenant, id: 'x'}) RETURN e.id AS id
"""


def test_parameters_are_text_json_or_lists() -> None:
    assert parse_parameters(["entity=retry budget", "depth:=2", "types=a", "types=b"]) == {
        "entity": "retry budget",
        "depth": 2,
        "types": ["a", "b"],
    }
    assert parse_parameters(['types:=["a", "b"]', "types=c"]) == {"types": ["a", "b", "c"]}
    assert parse_parameters(["formula=a=b"]) == {"formula": "a=b"}
    with pytest.raises(typer.BadParameter):
        parse_parameters(["depth"])


def test_a_refused_file_is_named_with_its_reason_before_any_service_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KNOTWORK_TRAVERSALS", raising=False)
    assert refused_traversals(tmp_path) == (0, [])
    folder = tmp_path / "traversals"
    folder.mkdir()
    (folder / "good.cypher").write_text(GOOD, encoding="utf-8")
    (folder / "bad.cypher").write_text("MATCH (n) DETACH DELETE n", encoding="utf-8")
    (folder / "torn.cypher").write_bytes(b"\xff")
    count, refused = refused_traversals(tmp_path)
    assert count == 3
    assert [line.partition(":")[0] for line in refused] == ["bad", "torn"]
    assert "header" in refused[0]
    assert in_short([f"n{number}: why" for number in range(7)]).endswith("; and 2 more")


def test_saved_queries_follow_what_there_is(tmp_path: Path) -> None:
    folder = tmp_path / "browser"
    write_saved_queries(folder, {"a": "RETURN 1", "b": "RETURN 2"})
    write_saved_queries(folder, {"b": "RETURN 3"})
    assert {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()} == {"b.cypher": "RETURN 3"}
