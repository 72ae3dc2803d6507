from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork.domain.fusion import fuse_rankings
from knotwork.domain.model import ChunkId
from knotwork.errors import InvalidRanking

A, B, C = (ChunkId(letter) for letter in "abc")


def test_a_chunk_found_by_two_retrievers_beats_one_found_first_by_one() -> None:
    assert [hit.id for hit in fuse_rankings([[A, B], [C, B]])] == [B, A, C]


def test_a_chunk_that_is_first_everywhere_scores_one() -> None:
    assert fuse_rankings([[A, B], [A, C]])[0].score == 1.0


def test_nothing_found_gives_nothing() -> None:
    assert fuse_rankings([[], []]) == []


@given(st.data())
def test_fusion_does_not_depend_on_the_order_of_the_retrievers(data: st.DataObject) -> None:
    rankings = data.draw(st.lists(st.lists(st.sampled_from([A, B, C]), unique=True), max_size=5))
    assert fuse_rankings(data.draw(st.permutations(rankings))) == fuse_rankings(rankings)


@given(st.lists(st.lists(st.sampled_from([A, B, C]), unique=True), min_size=1, max_size=5))
def test_scores_lie_between_zero_and_one(rankings: list[list[ChunkId]]) -> None:
    assert all(0 < hit.score <= 1 for hit in fuse_rankings(rankings))


@pytest.mark.parametrize("count", range(1, 30))
def test_first_place_everywhere_is_exactly_one(count: int) -> None:
    assert fuse_rankings([[A]] * count)[0].score == 1.0


def test_a_ranking_that_repeats_a_chunk_is_refused() -> None:
    with pytest.raises(InvalidRanking):
        fuse_rankings([[A, A]])


def test_damping_must_be_positive() -> None:
    with pytest.raises(InvalidRanking):
        fuse_rankings([[A]], k=0)


def test_a_ranking_that_weighs_more_decides_and_the_scale_stays() -> None:
    assert [hit.id for hit in fuse_rankings([[A, B], [B, A]], weights=(1, 2))] == [B, A]
    assert fuse_rankings([[A], [A]], weights=(3, 0.5))[0].score == pytest.approx(1.0)


def test_a_ranking_of_no_weight_is_left_out() -> None:
    assert fuse_rankings([[A, B], [C]], weights=(1, 0)) == fuse_rankings([[A, B]])


@given(st.lists(st.lists(st.sampled_from([A, B, C]), unique=True), min_size=1, max_size=5), st.floats(0.01, 100))
def test_equal_weights_change_nothing(rankings: list[list[ChunkId]], weight: float) -> None:
    weighted = fuse_rankings(rankings, weights=[weight] * len(rankings))
    plain = fuse_rankings(rankings)
    assert {hit.id: hit.score for hit in weighted} == pytest.approx({hit.id: hit.score for hit in plain})


@pytest.mark.parametrize("weights", [(1.0,), (1.0, -1.0), (1.0, float("nan")), (1.0, float("inf"))])
def test_weights_that_fit_no_ranking_are_refused(weights: tuple[float, ...]) -> None:
    with pytest.raises(InvalidRanking):
        fuse_rankings([[A], [B]], weights=weights)
