"""How well a ranking finds what it should: measures of one question, and the interval of their mean over many.

They are computed here because libraries for them (ranx, ir-measures, pytrec-eval) bring numba, pandas or SciPy into
every installation, and none the intervals, where the formulas take a line each. tests/unit/test_metrics.py compares
them with trec_eval, by pytrec-eval-terrier, on random rankings.
"""

from __future__ import annotations

import random
from collections.abc import Hashable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from math import fsum, log2
from typing import TypeVar

from knotwork.errors import InvalidInput

Id = TypeVar("Id", bound=Hashable)

RESAMPLES = 2000  # of the bootstrap: the ends of a 95 % interval then move by about a tenth of its width between seeds
SEED = 20  # of the bootstrap, so that a figure and its interval are the same on every run


@dataclass(frozen=True, slots=True)
class Interval:
    """The mean of a measure over questions, and between which values it lies with the given confidence."""

    mean: float
    low: float
    high: float


def recall_at(k: int, ranked: Sequence[Id], relevant: AbstractSet[Id]) -> float:
    """Share of the relevant ones among the first `k` of a ranking, in [0, 1].

    Args:
        k: Places looked at, ≥ 1.
        ranked: Best first, each once; may be shorter than `k`.
        relevant: What should be found, not empty.
    Raises:
        InvalidInput: nothing is relevant, `k` is below 1, or the ranking names one twice.
    """
    return len(relevant & set(_top(k, ranked, relevant))) / len(relevant)


def all_found_at(k: int, ranked: Sequence[Id], relevant: AbstractSet[Id]) -> float:
    """1 when every relevant one is among the first `k`, else 0: an answer that needs all of them can then be made."""
    return float(relevant <= set(_top(k, ranked, relevant)))


def reciprocal_rank(ranked: Sequence[Id], relevant: AbstractSet[Id]) -> float:
    """1 / place of the first relevant one, places from 1; 0 when none is found. Its mean is known as MRR."""
    return next((1 / place for place, id_ in enumerate(_top(None, ranked, relevant), start=1) if id_ in relevant), 0.0)


def ndcg_at(k: int, ranked: Sequence[Id], relevant: AbstractSet[Id]) -> float:
    """Normalised discounted cumulative gain of the first `k`, each relevant one worth 1, in [0, 1].

    Source: Järvelin, Kekäläinen, "Cumulated gain-based evaluation of IR techniques", TOIS 2002.
    """
    gain = fsum(1 / log2(place + 1) for place, id_ in enumerate(_top(k, ranked, relevant), start=1) if id_ in relevant)
    return gain / fsum(1 / log2(place + 1) for place in range(1, min(k, len(relevant)) + 1))


def bootstrap(values: Sequence[float], *, confidence: float = 0.95) -> Interval:
    """The mean of values, one a question, and its percentile bootstrap interval; the same on every run.

    Args:
        values: At least one.
        confidence: In (0, 1).
    Source: Efron, Tibshirani, "An Introduction to the Bootstrap", 1993.
    """
    if not values:
        raise InvalidInput("there is nothing to take the mean of; give at least one question")
    if not 0 < confidence < 1:
        raise InvalidInput(f"confidence is {confidence}; it must lie between 0 and 1")
    draw = random.Random(SEED)  # noqa: S311 - statistics, not a secret
    means = sorted(fsum(draw.choices(values, k=len(values))) / len(values) for _ in range(RESAMPLES))
    cut = round((1 - confidence) / 2 * (RESAMPLES - 1))
    return Interval(fsum(values) / len(values), means[cut], means[RESAMPLES - 1 - cut])


def paired_difference(before: Sequence[float], after: Sequence[float], *, confidence: float = 0.95) -> Interval:
    """By how much a measure changed, question by question; an interval without 0 is a change beyond chance.

    Args:
        before, after: One value a question, of the same questions in the same order.
        confidence: In (0, 1).
    Raises:
        InvalidInput: the lengths differ, or are 0.
    """
    if len(before) != len(after):
        raise InvalidInput(f"{len(before)} questions before and {len(after)} after; compare runs of the same questions")
    return bootstrap([new - old for old, new in zip(before, after, strict=True)], confidence=confidence)


def percentile(values: Sequence[float], share: float) -> float:
    """The least of the values that at least this share of them does not exceed, by the nearest rank.

    Args:
        values: At least one, in any order.
        share: In (0, 1]; 0.5 is the median, 0.95 what is known as p95.
    """
    if not values or not 0 < share <= 1:
        raise InvalidInput("a percentile needs at least one value and a share above 0, up to 1")
    ordered = sorted(values)
    return ordered[max(0, -int(-share * len(ordered) // 1) - 1)]


def _top(k: int | None, ranked: Sequence[Id], relevant: AbstractSet[Id]) -> Sequence[Id]:
    if not relevant:
        raise InvalidInput("a question without relevant passages measures nothing; leave it out")
    if k is not None and k < 1:
        raise InvalidInput(f"k is {k}; look at 1 place at least")
    if len(set(ranked)) != len(ranked):
        raise InvalidInput("the ranking names something twice")
    return ranked[:k]
