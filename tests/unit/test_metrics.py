"""Measures of rankings against values worked out by hand, and what holds of every ranking."""

from __future__ import annotations

from math import isclose, log2

import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from knotwork.domain.metrics import (
    all_found_at,
    bootstrap,
    ndcg_at,
    paired_difference,
    percentile,
    recall_at,
    reciprocal_rank,
)
from knotwork.errors import InvalidInput

rankings = st.lists(st.sampled_from("abcdefgh"), unique=True)
relevant_sets = st.frozensets(st.sampled_from("abcdefgh"), min_size=1)
shares = st.lists(st.floats(0, 1), min_size=1, max_size=30)


def test_recall_is_the_share_found_within_k() -> None:
    assert recall_at(2, ["x", "a", "b"], {"a", "b"}) == 0.5
    assert recall_at(3, ["x", "a", "b"], {"a", "b"}) == 1.0


def test_all_found_needs_every_one() -> None:
    assert all_found_at(2, ["x", "a", "b"], {"a", "b"}) == 0.0
    assert all_found_at(3, ["x", "a", "b"], {"a", "b"}) == 1.0


def test_the_reciprocal_rank_is_that_of_the_first_relevant_one() -> None:
    assert reciprocal_rank(["x", "y", "a", "b"], {"a", "b"}) == 1 / 3
    assert reciprocal_rank(["x"], {"a"}) == 0.0


def test_ndcg_discounts_by_the_logarithm_of_the_place() -> None:
    assert isclose(ndcg_at(3, ["x", "a", "b"], {"a", "b"}), (1 / log2(3) + 1 / log2(4)) / (1 + 1 / log2(3)))


@given(st.integers(1, 10), rankings, relevant_sets)
def test_measures_are_those_of_trec_eval(k: int, ranked: list[str], relevant: frozenset[str]) -> None:
    scores = {id_: float(-place) for place, id_ in enumerate(ranked)}  # it ranks by score, and ties by id
    judged = pytrec_eval.RelevanceEvaluator(
        {"question": dict.fromkeys(relevant, 1)}, {f"recall.{k}", f"ndcg_cut.{k}", "recip_rank"}
    )
    found = judged.evaluate({"question": scores})["question"]
    assert recall_at(k, ranked, relevant) == pytest.approx(found[f"recall_{k}"])
    assert ndcg_at(k, ranked, relevant) == pytest.approx(found[f"ndcg_cut_{k}"])
    assert reciprocal_rank(ranked, relevant) == pytest.approx(found["recip_rank"])


def test_what_measures_nothing_is_refused() -> None:
    with pytest.raises(InvalidInput, match="relevant"):
        recall_at(5, ["a"], set())
    with pytest.raises(InvalidInput, match="k is 0"):
        all_found_at(0, ["a"], {"a"})
    with pytest.raises(InvalidInput, match="twice"):
        ndcg_at(5, ["a", "a"], {"a"})
    with pytest.raises(InvalidInput, match="at least one"):
        bootstrap([])
    with pytest.raises(InvalidInput, match="confidence"):
        bootstrap([1.0], confidence=1)
    with pytest.raises(InvalidInput, match="same questions"):
        paired_difference([1.0], [1.0, 0.0])
    with pytest.raises(InvalidInput, match="percentile"):
        percentile([], 0.5)


@given(st.integers(1, 10), rankings, relevant_sets)
def test_measures_lie_between_0_and_1_and_agree_on_a_perfect_ranking(
    k: int, ranked: list[str], relevant: frozenset[str]
) -> None:
    for value in (recall_at(k, ranked, relevant), all_found_at(k, ranked, relevant), ndcg_at(k, ranked, relevant)):
        assert 0 <= value <= 1 or isclose(value, 1)
    perfect = [*sorted(relevant), *(one for one in ranked if one not in relevant)]
    assert recall_at(len(relevant), perfect, relevant) == all_found_at(len(relevant), perfect, relevant) == 1
    assert isclose(ndcg_at(k, perfect, relevant), 1)
    assert reciprocal_rank(perfect, relevant) == 1


@given(st.integers(1, 9), rankings, relevant_sets)
def test_looking_further_never_lowers_recall(k: int, ranked: list[str], relevant: frozenset[str]) -> None:
    assert recall_at(k, ranked, relevant) <= recall_at(k + 1, ranked, relevant)


@given(shares)
def test_the_interval_holds_the_mean_and_is_the_same_each_time(values: list[float]) -> None:
    interval = bootstrap(values)
    assert interval == bootstrap(values)
    assert min(values) - 1e-9 <= interval.low <= interval.high <= max(values) + 1e-9


def test_more_questions_give_a_narrower_interval() -> None:
    few, many = bootstrap([0.0, 1.0] * 10), bootstrap([0.0, 1.0] * 1000)
    assert few.low < many.low < 0.5 < many.high < few.high


def test_a_change_of_every_question_is_beyond_chance_and_one_that_comes_and_goes_is_not() -> None:
    assert paired_difference([0.0] * 50, [0.5] * 50).low == 0.5
    mixed = paired_difference([0.0, 1.0] * 25, [1.0, 0.0] * 25)
    assert mixed.low < 0 < mixed.high


def test_percentiles_go_by_the_nearest_rank() -> None:
    assert percentile([4, 1, 3, 2], 0.5) == 2
    assert percentile([4, 1, 3, 2], 0.95) == 4
    assert percentile([7], 0.01) == 7
