from __future__ import annotations

from math import cos, sin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork.domain.diversity import diversify
from knotwork.domain.model import ChunkId, Vector
from knotwork.domain.retrieval import Scored

A, B, C, D = (ChunkId(letter) for letter in "abcd")
HITS = [Scored(A, 0.9), Scored(B, 0.89), Scored(C, 0.7), Scored(D, 0.5)]
VECTORS: dict[ChunkId, Vector] = {A: (1, 0), B: (1, 0), C: (0, 1), D: (0.6, 0.8)}


def chosen(diversity: float, limit: int, vectors: dict[ChunkId, Vector] = VECTORS) -> list[ChunkId]:
    return [hit.id for hit in diversify(HITS, vectors, diversity=diversity, limit=limit)]


def test_without_diversity_the_best_are_taken() -> None:
    assert chosen(0, 2) == [A, B]


def test_a_passage_that_repeats_the_best_gives_way_to_another() -> None:
    assert chosen(0.5, 2) == [A, C]


def test_the_best_is_always_among_the_chosen_and_the_order_is_that_of_the_scores() -> None:
    assert chosen(1, 3) == [A, C, D]


def test_a_passage_without_a_vector_is_like_no_other() -> None:
    assert chosen(0.5, 2, {A: (1, 0), B: (1, 0), D: (1, 0)}) == [A, C]


def test_as_many_as_are_wanted_are_all_taken() -> None:
    assert chosen(1, 4) == [A, B, C, D]


def test_equals_are_told_apart_by_their_ids() -> None:
    hits = [Scored(id_, 0.5) for id_ in (A, B, C)]
    assert [hit.id for hit in diversify(hits, {}, diversity=0.7, limit=2)] == [A, B]


@given(
    st.lists(st.tuples(st.floats(-1, 1), st.floats(0, 6.28)), min_size=1, max_size=12),
    st.floats(0, 1),
    st.integers(1, 12),
)
def test_the_choice_is_a_part_of_the_hits_with_the_best_in_their_order(
    given_: list[tuple[float, float]], diversity: float, limit: int
) -> None:
    hits = sorted(
        (Scored(ChunkId(f"{place:02}"), score) for place, (score, _) in enumerate(given_)),
        key=lambda hit: (-hit.score, hit.id),
    )
    vectors = {ChunkId(f"{place:02}"): (cos(angle), sin(angle)) for place, (_, angle) in enumerate(given_)}
    found = diversify(hits, vectors, diversity=diversity, limit=limit)
    assert len(found) == min(limit, len(hits))
    assert found[0] == hits[0]
    assert found == [hit for hit in hits if hit in found]
    assert found == diversify(hits, dict(reversed(vectors.items())), diversity=diversity, limit=limit)


def test_much_diversity_covers_more_than_little() -> None:
    def spread(diversity: float) -> float:
        kept = diversify(HITS, VECTORS, diversity=diversity, limit=2)
        return 1 - sum(x * y for x, y in zip(VECTORS[kept[0].id], VECTORS[kept[1].id], strict=True))

    assert spread(0.9) >= spread(0.1) == pytest.approx(0)
