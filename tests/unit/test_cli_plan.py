"""From paths to sources: ids, order, what is left out."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from knotwork.cli.plan import FileItem, Place, RowItem, make_plan, relative_id, walk
from knotwork.errors import InvalidInput


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """docs/ with a.md, b/c.md and things that are no documents."""
    root = tmp_path / "docs"
    (root / "b").mkdir(parents=True)
    for name in ("a.md", "b/c.md", ".hidden.md", "b/.git"):
        (root / name).write_text("text")
    return root


def ids(paths: list[Path], root: Path | None = None) -> list[str]:
    return [item.id for item in make_plan(paths, root=root).items]


def test_an_id_is_the_path_below_the_folder_given(tree: Path) -> None:
    assert ids([tree]) == ["a.md", "b/c.md"]


def test_a_root_says_what_ids_are_relative_to(tree: Path) -> None:
    assert ids([tree / "b"], root=tree) == ids([tree / "b" / "c.md"], root=tree) == ["b/c.md"]


def test_a_file_alone_is_named_by_its_name(tree: Path) -> None:
    assert ids([tree / "b" / "c.md"]) == ["c.md"]


def test_dots_in_a_path_do_not_reach_the_id(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree / "b")

    assert ids([Path("../b/./c.md")], root=Path("..")) == ["b/c.md"]


def test_a_path_outside_the_root_is_refused(tree: Path) -> None:
    with pytest.raises(InvalidInput, match="is not below the root"):
        make_plan([tree / "a.md"], root=tree / "b")


def test_a_root_reached_through_a_link_is_the_same_root(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tree)

    assert relative_id(tree / "b" / "c.md", tmp_path / "link") == "b/c.md"


def test_a_path_that_is_not_there_is_refused(tree: Path) -> None:
    with pytest.raises(InvalidInput, match="does not exist"):
        make_plan([tree / "nothing"], root=None)


def test_a_link_back_to_a_folder_above_is_left_out_and_other_links_are_followed(tree: Path) -> None:
    (tree / "b" / "up").symlink_to(tree)
    (tree / "also-b").symlink_to(tree / "b")
    (tree / "broken").symlink_to(tree / "nowhere")

    assert ids([tree]) == ["a.md", "also-b/c.md", "b/c.md"]


def test_a_link_out_of_the_folder_given_is_skipped_and_named(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "secret.md").write_text("text")
    (tree / "b" / "file.md").symlink_to(tmp_path / "private" / "secret.md")
    (tree / "folder").symlink_to(tmp_path / "private")

    plan = make_plan([tree], root=None)

    assert [item.id for item in plan.items] == ["a.md", "b/c.md"]
    assert [(problem.id, problem.code) for problem in plan.problems] == [
        (str(tree / "b" / "file.md"), "outside"),
        (str(tree / "folder"), "outside"),
    ]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every folder")
def test_a_folder_that_cannot_be_read_is_a_problem_and_the_rest_goes_on(tree: Path) -> None:
    (tree / "b").chmod(0)
    try:
        plan = make_plan([tree], root=None)
    finally:
        (tree / "b").chmod(0o700)

    assert [item.id for item in plan.items] == ["a.md"]
    assert [problem.code for problem in plan.problems] == ["unreadable"]


def test_files_come_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name in ("10", "9", "B", "a", "ä"):
        (tmp_path / name).write_text("text")

    assert [path.name for path in walk(tmp_path, [], tmp_path)] == ["10", "9", "B", "a", "ä"]


def test_two_files_of_one_id_are_a_problem_that_names_both(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "a.md").write_text("other")

    plan = make_plan([tree, tmp_path / "more"], root=None)

    assert [item.id for item in plan.items] == ["a.md", "b/c.md"]
    [problem] = plan.problems
    assert problem.code == "duplicate"
    assert str(tree / "a.md") in problem.message
    assert str(tmp_path / "more" / "a.md") in problem.message


def test_a_file_name_that_is_no_unicode_gives_a_legal_id(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/caf\xe9.txt"
    with open(path, "wb") as stream:  # noqa: PTH123 - a path of bytes
        stream.write(b"text")

    assert ids([tmp_path]) == ["caf�.txt"]


@pytest.mark.parametrize("name", ["people.jsonl", "people.ndjson", "people.jsonl.gz"])
def test_a_corpus_is_one_source_a_row(tmp_path: Path, name: str) -> None:
    rows = [{"id": "a", "text": "one", "title": "One", "year": 1}, {"id": "b", "text": "two"}]
    data = "\n".join(map(json.dumps, rows)).encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    place = Place(tmp_path, name)

    assert make_plan([tmp_path], root=None).items == (
        RowItem("a", "One", "one", {"year": 1}, place),
        RowItem("b", "", "two", {}, place),
    )


def test_json_lines_that_are_no_corpus_are_one_source(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text('{"id": "a", "text": "one"}\n{"no": "id"}\n')

    assert make_plan([path], root=None).items == (FileItem("events.jsonl", path, Place(tmp_path, "events.jsonl")),)


def test_a_packed_file_that_is_no_corpus_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl.gz").write_bytes(gzip.compress(b'{"no": "id"}'))

    plan = make_plan([tmp_path], root=None)

    assert plan.items == ()
    assert [problem.code for problem in plan.problems] == ["invalid_input"]
