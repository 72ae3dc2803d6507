"""Files of exports on the command line: what is refused before a service is asked, and differences, which need none."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from knotwork.cli.main import app
from knotwork.domain.catalogue import TenantSettings
from knotwork.domain.export import Settings, StateHash, header_record, to_line
from knotwork.errors import ExportDamaged


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, which has an empty export, another one, and a home that nobody may start a service in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KNOTWORK_HOME", "/dev/null")
    for name, chunker in (("a.jsonl", "one"), ("b.jsonl", "other")):
        state = StateHash()
        header = state.add(to_line(header_record(Settings(chunker, TenantSettings()))))
        (tmp_path / name).write_bytes(header + to_line(state.end_record()))
    return tmp_path


def run(*words: str) -> Result:
    return CliRunner().invoke(app, words)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["export", "a.jsonl"], "--force replaces it"),
        (["export", "new", "--format", "pdf"], "pdf"),
        (["export", "missing/new"], "cannot be written"),
        (["export", "a.jsonl/new"], "cannot be written"),
        (["export", ".", "--force"], "no ordinary file"),
        (["export", "/dev/full", "--force"], "no ordinary file"),
        (["import", "missing"], "does not exist"),
        (["import", "."], "is a directory"),
        (["diff", "a.jsonl", "missing"], "does not exist"),
        (["verify", "--gone", ""], "is empty"),
        (["verify", "--gone", " \t"], "is empty"),
    ],
    ids=lambda value: " ".join(value)[:30] if isinstance(value, list) else "",
)
def test_what_cannot_be_is_a_usage_error_before_any_service_is_asked(
    folder: Path, words: Sequence[str], told: str
) -> None:
    result = run(*words)
    assert (result.exit_code, told in result.output) == (2, True), result.output
    assert sorted(path.name for path in folder.iterdir()) == ["a.jsonl", "b.jsonl"]


def test_vectors_that_are_there_already_are_not_replaced_unasked(folder: Path) -> None:
    (folder / "new.vectors").write_text("precious", encoding="utf-8")
    assert run("export", "new").exit_code == 2
    assert not (folder / "new").exists()


@pytest.mark.usefixtures("folder")
def test_diff_ends_with_0_for_equal_states_and_with_1_for_others() -> None:
    equal = run("diff", "a.jsonl", "a.jsonl", "--json")
    assert (equal.exit_code, json.loads(equal.stdout)) == (0, {"equal": True, "differences": []})
    other = run("diff", "a.jsonl", "b.jsonl", "--json")
    assert other.exit_code == 1
    assert json.loads(other.stdout) == {"equal": False, "differences": ["setting chunker: one → other"]}
    assert run("diff", "a.jsonl", "b.jsonl").stdout == "setting chunker: one → other\n"


def test_a_file_that_was_cut_off_differs_in_nothing_and_is_refused(folder: Path) -> None:
    (folder / "cut.jsonl").write_bytes((folder / "a.jsonl").read_bytes()[:-9])
    result = run("diff", "a.jsonl", "cut.jsonl")
    assert isinstance(result.exception, ExportDamaged)  # which `run` of the command line tells in words
