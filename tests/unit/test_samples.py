"""The sample documents and the questions about them agree, and the binary files are what their sources say."""

from __future__ import annotations

import importlib
import json
from collections import Counter
from pathlib import Path
from typing import TypedDict

import pytest

from knotwork.adapters.parsing.registry import parse_bytes

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = ROOT / "samples" / "documents"
FORMATS = {".md", ".txt", ".html", ".pdf", ".docx", ".jsonl", ".csv"}
MODES = {"semantic", "keyword", "hybrid", "navigate", "local", "global", "paths"}


class Evidence(TypedDict):
    source: str
    quote: str


class Question(TypedDict):
    id: str
    question: str
    answer: str
    mode: str
    hops: int
    multihop: bool
    supporting: list[Evidence]


def read_questions() -> list[Question]:
    lines = (ROOT / "samples" / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


QUESTIONS = read_questions()


def one_line(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    """The parsed text of each document, by its path below samples/documents, in one line."""
    found: dict[str, str] = {}
    for path in sorted(DOCUMENTS.rglob("*.*")):
        parsed, _ = parse_bytes(path.read_bytes(), path.name)
        found[path.relative_to(DOCUMENTS).as_posix()] = one_line(parsed.text)
    return found


def test_every_format_that_can_be_indexed_has_a_sample(texts: dict[str, str]) -> None:
    assert {Path(name).suffix for name in texts} == FORMATS


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question["id"])
def test_each_quote_stands_in_the_document_it_names(question: Question, texts: dict[str, str]) -> None:
    missing = [each for each in question["supporting"] if each["quote"] not in texts[each["source"]]]
    assert question["supporting"]
    assert missing == []


def test_quotes_are_one_line_and_not_empty() -> None:
    quotes = [each["quote"] for question in QUESTIONS for each in question["supporting"]]
    assert all(quote and quote == one_line(quote) for quote in quotes)


def test_ids_and_questions_are_unique() -> None:
    assert len({question["id"] for question in QUESTIONS}) == len(QUESTIONS)
    assert len({question["question"] for question in QUESTIONS}) == len(QUESTIONS)


def test_a_question_is_multi_hop_exactly_when_its_evidence_lies_in_several_documents() -> None:
    for question in QUESTIONS:
        several = len({each["source"] for each in question["supporting"]}) > 1
        assert question["multihop"] == (several and question["mode"] != "global"), question["id"]
        assert (question["hops"] == 0) == (question["mode"] == "global"), question["id"]


def test_every_mode_is_asked_and_at_least_ten_questions_need_several_documents() -> None:
    modes = Counter(question["mode"] for question in QUESTIONS)
    assert set(modes) == MODES
    assert min(modes.values()) >= 3
    assert sum(question["multihop"] for question in QUESTIONS) >= 10


def test_every_document_answers_some_question(texts: dict[str, str]) -> None:
    assert {each["source"] for question in QUESTIONS for each in question["supporting"]} == set(texts)


def test_a_pdf_sample_has_more_than_one_page_and_its_headings() -> None:
    parsed, _ = parse_bytes((DOCUMENTS / "policies/data-retention.pdf").read_bytes(), "data-retention.pdf")
    assert [start.page for start in parsed.pages] == [1, 2]
    assert parsed.title == "Data retention (policy)"


def test_the_binary_samples_are_made_from_their_sources_byte_for_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "bench")
    make_samples = importlib.import_module("make_samples")
    for source, target in make_samples.TARGETS.items():
        assert make_samples.make(source) == (DOCUMENTS / target).read_bytes(), f"run bench/make_samples.py ({target})"
