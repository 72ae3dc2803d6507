"""What `knotwork eval` reads: folders of files, names of modes, places."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
import typer

from knotwork.cli.evaluating import _modes, _places
from knotwork.cli.evaluation_files import load_set
from knotwork.domain.retrieval import Mode
from knotwork.errors import InvalidInput

CORPUS = '{"id": "p1", "title": "Ada", "text": "Ada wrote notes."}\n'
OTHER = CORPUS + '{"id": "p2", "text": "Bob reads."}\n'
QUESTIONS = '{"id": "q1", "question": "Who wrote?", "supporting": ["p1"]}\n'
OPENIE = '{"id": "p1", "entities": ["Ada"], "triples": [["Ada", "wrote", "notes"]]}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "corpus.jsonl").write_text(CORPUS)
    (tmp_path / "questions.jsonl").write_text("\ufeff" + QUESTIONS, encoding="utf-8")
    (tmp_path / "openie.jsonl.gz").write_bytes(gzip.compress(OPENIE.encode()))
    return tmp_path


def test_a_folder_is_read_plain_or_packed(folder: Path) -> None:
    given = load_set(folder, recorded=True)
    assert [passage.id for passage in given.passages] == ["p1"]
    assert given.recorded["p1"].triples == (("Ada", "wrote", "notes"),)
    assert load_set(folder).recorded == {}


def test_another_corpus_can_stand_in_for_the_folders(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl.gz"
    other.write_bytes(gzip.compress(OTHER.encode()))
    (folder / "corpus.jsonl").unlink()
    assert [passage.id for passage in load_set(folder, corpus=other).passages] == ["p1", "p2"]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("questions.jsonl", None, "has no questions.jsonl, nor questions.jsonl.gz"),
        ("corpus.jsonl", b'{"id"\n', "corpus, line 1: not JSON"),
        ("corpus.jsonl", b"\xff", "corpus.jsonl: not UTF-8, at byte 0"),
        ("corpus.jsonl.gz", gzip.compress(CORPUS.encode(), mtime=0), "both corpus.jsonl and corpus.jsonl.gz"),
        ("openie.jsonl.gz", b"plain", "openie.jsonl.gz: not gzip"),
        ("openie.jsonl.gz", gzip.compress(OPENIE.encode(), mtime=0)[:-9], "not gzip, or damaged"),
        ("openie.jsonl.gz", gzip.compress(b"", mtime=0), "openie: there is no row"),
    ],
)
def test_what_cannot_be_read_is_named(folder: Path, name: str, data: bytes | None, message: str) -> None:
    (folder / name).unlink(missing_ok=True)
    if data is not None:
        (folder / name).write_bytes(data)
    with pytest.raises(InvalidInput, match=message):
        load_set(folder, recorded=True)


def test_a_folder_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="nowhere is no folder"):
        load_set(tmp_path / "nowhere")
    with pytest.raises(InvalidInput, match="none: No such file"):
        load_set(tmp_path, corpus=tmp_path / "none")


def test_modes_and_places_are_read_once_each() -> None:
    assert _modes("local, hybrid,local") == [Mode.LOCAL, Mode.HYBRID]
    assert _places("8,5, 8") == [5, 8]


@pytest.mark.parametrize("text", ["", ",", "locl", "local;hybrid"])
def test_what_names_no_mode_is_refused(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="there are semantic"):
        _modes(text)


@pytest.mark.parametrize("text", ["", "0", "21", "-1", "five", "5;8"])
def test_what_is_no_place_is_refused(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="1 to 20"):
        _places(text)
