"""What `--prune` deletes: what came from this folder and is gone, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from knotwork.cli.roots import RootRecord


@pytest.fixture
def record(tmp_path: Path) -> RootRecord:
    found = RootRecord(tmp_path, "default", "document", Path("/data/docs"))
    found.update(added={"a.md": "a.md", "sub/b.md": "sub/b.md", "row-1": "sub/rows.jsonl"})
    return found


def test_what_was_recorded_and_is_not_present_is_gone(record: RootRecord) -> None:
    assert record.gone(["a.md"], [""]) == ["row-1", "sub/b.md"]


def test_only_what_lies_below_the_part_that_was_read_is_gone(record: RootRecord) -> None:
    assert record.gone([], ["sub"]) == ["row-1", "sub/b.md"]
    assert record.gone([], ["sub/rows.jsonl"]) == ["row-1"]
    assert record.gone([], ["su"]) == []


def test_what_another_folder_gave_too_stays(record: RootRecord, tmp_path: Path) -> None:
    RootRecord(tmp_path, "default", "document", Path("/data/other")).update(added={"a.md": "a.md"})
    RootRecord(tmp_path, "acme", "document", Path("/data/other")).update(added={"row-1": "row-1"})

    assert record.gone([], [""]) == ["row-1", "sub/b.md"]


def test_what_was_deleted_is_forgotten(record: RootRecord) -> None:
    record.update(added={"c.md": "c.md"}, removed=["a.md", "row-1"])

    assert record.files() == {"c.md": "c.md", "sub/b.md": "sub/b.md"}


def test_a_folder_that_was_never_ingested_has_nothing_to_prune(tmp_path: Path) -> None:
    assert RootRecord(tmp_path, "default", "document", Path("/new")).gone([], [""]) == []
