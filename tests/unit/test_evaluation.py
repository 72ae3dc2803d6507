"""Sets of questions as they are read, and recorded extractions as they are replayed."""

from __future__ import annotations

import json

import pytest

from knotwork.domain.model import ChunkId
from knotwork.errors import InvalidInput
from knotwork.ports.models import ExtractionInput
from knotwork.services.evaluation import Answered, EvaluationSet, Question, RecordedExtractor, read_set

TEXT = "Ada wrote notes. Bob read them in London."


def lines(*rows: object) -> str:
    return "\n".join(map(json.dumps, rows)) + "\n\n"


CORPUS = lines({"id": "p1", "title": "Ada", "text": TEXT}, {"id": "p2", "text": "Bob"})
QUESTIONS = lines({"id": "q1", "question": "Who read them?", "supporting": ["p1"], "answer": "Bob"})
OPENIE = lines(
    {
        "id": "p1",
        "entities": ["Ada", "Grace"],
        "triples": [
            ["Ada", "wrote", "notes"],
            ["Bob", "lives in", "London"],
            ["half", "a triple"],
            ["Ada", "met", "Eve"],
        ],
    }
)


def whole_set() -> EvaluationSet:
    return read_set(CORPUS, QUESTIONS, OPENIE)


def test_a_set_is_read_with_its_questions_and_recordings() -> None:
    given = whole_set()
    assert [passage.id for passage in given.passages] == ["p1", "p2"]
    assert given.questions == (Question("q1", "Who read them?", frozenset({"p1"})),)
    assert given.recorded["p1"].triples == (
        ("Ada", "wrote", "notes"),
        ("Bob", "lives in", "London"),
        ("Ada", "met", "Eve"),
    )
    assert [source.ref.id for source, _ in given.documents()] == ["p1", "p2"]


@pytest.mark.parametrize(
    ("corpus", "questions", "message"),
    [
        ("{", QUESTIONS, "corpus, line 1: not JSON"),
        ("[]", QUESTIONS, "corpus, line 1: not an object"),
        (lines({"id": "p1", "text": " "}), QUESTIONS, "`text` must be"),
        (lines({"id": "p1", "text": "a"}, {"id": "p1", "text": "b"}), QUESTIONS, "line 2: .* the same id 'p1'"),
        (CORPUS, QUESTIONS + QUESTIONS, "questions, line 3: .* the same id 'q1'"),
        (CORPUS, lines({"id": "q1", "question": "Who?", "supporting": ["p9"]}), "line 1: the corpus has no .*'p9'"),
        (CORPUS, lines({"id": "q1", "question": "Who?"}), "ids of the passages"),
        ("", QUESTIONS, "corpus: there is no row"),
        (CORPUS, "\n", "questions: there is no row"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(corpus: str, questions: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        read_set(corpus, questions)


async def said_of(text: str, title: str = "Ada") -> tuple[list[str], list[tuple[str, str, str]]]:
    raw = (await RecordedExtractor(whole_set()).extract(ExtractionInput(ChunkId("c"), text, title))).raw
    assert isinstance(raw, dict)
    return (
        [one["name"] for one in raw["entities"]],
        [(one["from"], one["type"], one["to"]) for one in raw["relationships"]],
    )


async def test_ends_of_triples_count_as_entities() -> None:
    names, triples = await said_of(TEXT)
    assert names == ["Ada", "Bob", "Eve", "Grace", "London", "notes"]
    assert triples == [("Ada", "wrote", "notes"), ("Bob", "lives in", "London"), ("Ada", "met", "Eve")]


async def test_each_chunk_of_a_passage_says_what_stands_in_it_and_the_first_what_stands_nowhere() -> None:
    assert await said_of("Ada wrote notes.") == (
        ["Ada", "Eve", "Grace", "notes"],
        [("Ada", "wrote", "notes"), ("Ada", "met", "Eve")],
    )
    assert await said_of("Bob read them in London.") == (["Bob", "London"], [("Bob", "lives in", "London")])


async def test_an_unknown_text_says_nothing() -> None:
    assert await said_of("Something else", "Ada") == ([], [])
    assert await said_of(TEXT, "Another title") == ([], [])


def test_an_answer_is_measured_by_the_ranking_of_its_passages() -> None:
    answered = Answered(Question("q", "?", frozenset({"a", "b"})), ("a", "x", "b"))
    measures = answered.measures()
    assert (measures["recall@5"], measures["all-found@8"], measures["mrr"]) == (1.0, 1.0, 1.0)
    assert 0.9 < measures["ndcg@10"] < 1.0


def test_a_line_separator_within_a_text_ends_no_row() -> None:
    corpus = '{"id": "p1", "text": "one\u2028two\x85three"}'
    assert read_set(corpus, QUESTIONS).passages[0].text == "one\u2028two\x85three"


def test_the_places_at_which_recall_is_measured_can_be_chosen() -> None:
    answered = Answered(Question("q", "?", frozenset({"a", "b"})), ("a", "x", "b"))
    measures = answered.measures([1, 3])
    assert (measures["recall@1"], measures["all-found@1"], measures["all-found@3"]) == (0.5, 0.0, 1.0)
    assert "recall@5" not in measures


def test_a_limit_takes_the_first_questions_and_leaves_the_corpus() -> None:
    questions = lines(*({"id": f"q{n}", "question": "Who?", "supporting": ["p1"]} for n in range(3)))
    given = read_set(CORPUS, questions)
    assert [one.id for one in given.limited(2).questions] == ["q0", "q1"]
    assert given.limited(2).passages == given.passages
    assert given.limited(None) == given


def test_the_hash_of_a_corpus_tells_its_texts_and_recordings_but_not_its_questions() -> None:
    hashes = {
        read_set(CORPUS, QUESTIONS).corpus_hash,
        read_set(CORPUS, QUESTIONS, OPENIE).corpus_hash,
        read_set(CORPUS.replace("Ada wrote", "Eve wrote"), QUESTIONS).corpus_hash,
    }
    assert len(hashes) == 3
    assert whole_set().limited(0).corpus_hash == whole_set().corpus_hash
