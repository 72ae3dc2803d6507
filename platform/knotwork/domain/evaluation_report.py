"""The figures of an evaluation as a document, and what changed between two of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from knotwork.domain.metrics import Interval, bootstrap, paired_difference, percentile
from knotwork.errors import InvalidInput

# A regression is told at 99 % and not at the 95 % of the intervals shown: several measures of several modes are looked
# at together. On 60 questions it takes about six that lose everything and none that gains.
REGRESSION_CONFIDENCE = 0.99
LATENCIES = {"p50": 0.5, "p95": 0.95}

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class QuestionFigures:
    """How one mode did on one question."""

    measures: Mapping[str, float]  # by name, in [0, 1]
    found: tuple[str, ...]  # ids of passages, best first


@dataclass(frozen=True, slots=True)
class ModeFigures:
    """How one mode did: questions by id, in their order, and milliseconds of its answers."""

    questions: Mapping[str, QuestionFigures]
    latencies_ms: Mapping[str, float]  # p50 and p95

    def intervals(self) -> dict[str, Interval]:
        """The mean of each measure, with its 95 % bootstrap interval."""
        return {name: bootstrap(self.values(name, list(self.questions))) for name in self.measures}

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of the measures."""
        return tuple(next(iter(self.questions.values())).measures) if self.questions else ()

    def values(self, measure: str, ids: Sequence[str]) -> list[float]:
        """One measure of these questions."""
        return [self.questions[id_].measures[measure] for id_ in ids]


@dataclass(frozen=True, slots=True)
class EvaluationReport:
    """Figures by mode; `about` says of what, and made with what."""

    modes: Mapping[str, ModeFigures]
    questions: Mapping[str, str]  # the text of each question by its id
    about: Mapping[str, object] = field(default_factory=dict[str, object])

    def document(self) -> Json:
        """As JSON: shares in 0 to 1 under `modes`, the rest beside them."""
        intervals = {mode: figures.intervals() for mode, figures in self.modes.items()}
        return {
            "modes": {mode: {name: one.mean for name, one in by.items()} for mode, by in intervals.items()},
            "intervals": {
                mode: {name: [one.low, one.high] for name, one in by.items()} for mode, by in intervals.items()
            },
            "latency_ms": {mode: dict(figures.latencies_ms) for mode, figures in self.modes.items()},
            "about": dict(self.about),
            "questions": [
                {
                    "id": id_,
                    "question": text,
                    "modes": {
                        mode: {**figures.questions[id_].measures, "found": list(figures.questions[id_].found)}
                        for mode, figures in self.modes.items()
                    },
                }
                for id_, text in self.questions.items()
            ],
        }


@dataclass(frozen=True, slots=True)
class Change:
    """What became of one measure of one mode, over the questions that both evaluations asked."""

    mode: str
    measure: str
    before: float
    after: float
    difference: Interval  # 95 %
    is_regression: bool  # the loss is beyond chance

    def document(self) -> Json:
        """As JSON."""
        return {
            "mode": self.mode,
            "measure": self.measure,
            "before": self.before,
            "after": self.after,
            "difference": self.difference.mean,
            "interval": [self.difference.low, self.difference.high],
            "regression": self.is_regression,
        }


def latencies(times_ms: Sequence[float]) -> dict[str, float]:
    """p50 and p95 of the times of answers."""
    return {name: round(percentile(times_ms, share), 3) for name, share in LATENCIES.items()}


def read_report(text: str) -> EvaluationReport:
    """A report from the JSON that `EvaluationReport.document` makes.

    Raises:
        InvalidInput: it is none.
    """
    try:
        document = cast("Json", json.loads(text))
        rows = cast("list[Json]", document["questions"])
        modes = {
            str(mode): ModeFigures(
                {str(row["id"]): _figures(row["modes"][mode]) for row in rows},
                {str(name): float(value) for name, value in document["latency_ms"][mode].items()},
            )
            for mode in cast("Json", document["modes"])
        }
        return EvaluationReport(
            modes, {str(row["id"]): str(row["question"]) for row in rows}, dict(document.get("about", {}))
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InvalidInput("not the JSON of an evaluation; give a file that `knotwork eval --out` wrote") from None


def common_questions(before: EvaluationReport, after: Mapping[str, str]) -> list[str]:
    """Ids of the questions that were asked then and are now, word for word, in today's order."""
    return [id_ for id_, text in after.items() if before.questions.get(id_) == text]


def compare(before: EvaluationReport, after: EvaluationReport) -> list[Change]:
    """Each measure of each mode that both have, by a paired bootstrap over the questions that both asked.

    Raises:
        InvalidInput: they have no question or no mode in common.
    """
    ids = common_questions(before, after.questions)
    modes = [mode for mode in after.modes if mode in before.modes]
    if not ids or not modes:
        raise InvalidInput("the two evaluations have no question or no mode in common; evaluate the same set and modes")
    changes: list[Change] = []
    for mode in modes:
        old, new = before.modes[mode], after.modes[mode]
        for measure in (name for name in new.measures if name in old.measures):
            pair = old.values(measure, ids), new.values(measure, ids)
            changes.append(
                Change(
                    mode=mode,
                    measure=measure,
                    before=sum(pair[0]) / len(ids),
                    after=sum(pair[1]) / len(ids),
                    difference=paired_difference(*pair),
                    is_regression=paired_difference(*pair, confidence=REGRESSION_CONFIDENCE).high < 0,
                )
            )
    return changes


def _figures(row: Json) -> QuestionFigures:
    measures = {name: float(value) for name, value in row.items() if name != "found"}
    return QuestionFigures(measures, tuple(str(id_) for id_ in row["found"]))
