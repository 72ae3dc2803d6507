"""Reports of evaluations: their JSON, and what counts as a regression, on planted rankings."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from knotwork.domain.evaluation_report import (
    EvaluationReport,
    ModeFigures,
    QuestionFigures,
    compare,
    latencies,
    read_report,
)
from knotwork.errors import InvalidInput
from knotwork.services.evaluation import Answered, Question

QUESTIONS = 60
GOOD, BAD = ("gold", "x", "y"), ("x", "y", "z")


def report(*, wrong: Sequence[int] = (), mode: str = "local", asked: range = range(QUESTIONS)) -> EvaluationReport:
    """An evaluation in which these questions, by number, found nothing and all others everything."""
    figures: dict[str, QuestionFigures] = {}
    for number in asked:
        ranked = BAD if number in wrong else GOOD
        answered = Answered(Question(f"q{number}", "?", frozenset({"gold"})), ranked)
        figures[f"q{number}"] = QuestionFigures(answered.measures(), ranked)
    questions = {f"q{number}": f"Question {number}?" for number in asked}
    return EvaluationReport({mode: ModeFigures(figures, latencies([1.0, 2.0, 3.0]))}, questions, {"passages": 3})


def regressions(before: EvaluationReport, after: EvaluationReport) -> set[str]:
    return {change.measure for change in compare(before, after) if change.is_regression}


def test_the_document_has_shares_by_mode_and_measure() -> None:
    document = report(wrong=range(15)).document()
    assert document["modes"] == {
        "local": dict.fromkeys(("recall@5", "recall@8", "all-found@5", "all-found@8", "mrr", "ndcg@10"), 0.75)
    }
    low, high = document["intervals"]["local"]["recall@5"]
    assert 0.6 < low < 0.75 < high < 0.9
    assert document["latency_ms"] == {"local": {"p50": 2.0, "p95": 3.0}}
    assert document["questions"][0]["modes"]["local"]["found"] == list(BAD)


def test_a_report_is_read_as_it_was_written() -> None:
    written = report(wrong=[3, 5])
    assert read_report(json.dumps(written.document())) == written


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"modes": {"local": {}}, "questions": [{}], "latency_ms": {}}'])
def test_what_is_no_report_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="knotwork eval --out"):
        read_report(text)


def test_the_same_run_is_no_regression() -> None:
    assert regressions(report(wrong=range(20)), report(wrong=range(20))) == set()


def test_a_quarter_of_the_questions_lost_is_a_regression_of_every_measure() -> None:
    assert regressions(report(), report(wrong=range(15))) == set(report().modes["local"].measures)
    (change,) = (one for one in compare(report(), report(wrong=range(15))) if one.measure == "recall@5")
    assert (change.before, change.after, change.difference.mean) == (1.0, 0.75, -0.25)
    assert change.difference.high < 0


def test_a_few_questions_lost_are_within_chance() -> None:
    assert regressions(report(), report(wrong=[1, 2, 3])) == set()


def test_losses_that_others_make_up_for_are_none() -> None:
    assert regressions(report(wrong=range(10)), report(wrong=range(10, 20))) == set()


def test_an_improvement_is_no_regression() -> None:
    assert regressions(report(wrong=range(30)), report()) == set()


def test_questions_are_compared_that_both_asked() -> None:
    before = report(wrong=range(40, QUESTIONS))
    changes = compare(before, report(asked=range(40)))
    assert {(change.before, change.after) for change in changes} == {(1.0, 1.0)}


def test_evaluations_without_a_common_question_or_mode_cannot_be_compared() -> None:
    for other in (report(mode="hybrid"), report(asked=range(100, 110))):
        with pytest.raises(InvalidInput, match="in common"):
            compare(report(), other)
    reworded = EvaluationReport(report().modes, dict.fromkeys(report().questions, "Another question?"))
    with pytest.raises(InvalidInput, match="in common"):
        compare(report(), reworded)
