"""Where the walk of mode local starts: how much names, facts and chunks that are like the question weigh."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork.domain.model import EntityId, RelationshipId
from knotwork.domain.surroundings import NameSurroundings
from knotwork.ports.vector_store import Hit
from knotwork.services.local_seeds import (
    CHUNK_WEIGHT,
    DENSE_SEEDS,
    FAR_FACT,
    LEAST,
    NAME_WEIGHT,
    WORDS_WEIGHT,
    Seeds,
    prior,
)
from knotwork.services.local_walk import chunk_node, name_node


def hits(scores: Mapping[str, float]) -> list[Hit]:
    return [Hit(id_, score) for id_, score in scores.items()]


def alike(number: int, *, score: float = 0.5) -> list[Hit]:
    return [Hit(f"c{place:03}", score) for place in range(number)]


def seeds(
    *,
    names: Sequence[NameSurroundings] = (),
    entities: Mapping[str, float] | None = None,
    facts: Mapping[str, float] | None = None,
    dense: Sequence[Hit] = (),
    keyword: Sequence[Hit] = (),
) -> Seeds:
    near = {EntityId(id_): similarity for id_, similarity in (entities or {}).items()}
    said = {RelationshipId(id_): similarity for id_, similarity in (facts or {}).items()}
    return Seeds({one.name: one for one in names}, near, said, dense, keyword)


def name(text: str, mentions: int = 1) -> NameSurroundings:
    return NameSurroundings(text, mentions, (EntityId(f"thing:{text}"),))


def test_no_hits_have_no_shares() -> None:
    assert prior([]) == prior([], share_alike=True) == {}


def test_a_hit_has_its_place_between_the_best_and_the_last() -> None:
    assert prior(hits({"a": 0.9, "b": 0.7, "c": 0.5})) == {"a": 1.0, "b": pytest.approx(0.5), "c": LEAST}


def test_a_single_hit_is_the_best() -> None:
    assert prior(alike(1)) == prior(alike(1), share_alike=True) == {"c000": 1.0}


@pytest.mark.parametrize(("share_alike", "share"), [(False, 1.0), (True, 0.25)])
def test_equal_hits_are_each_the_best_or_share_that_among_them(share_alike: bool, share: float) -> None:
    assert prior(alike(4), share_alike=share_alike) == dict.fromkeys(["c000", "c001", "c002", "c003"], share)


def test_hits_of_which_one_stands_out_share_nothing() -> None:
    scored = hits({"a": 3.0, "b": 1.0, "c": 1.0})
    assert prior(scored, share_alike=True) == prior(scored) == {"a": 1.0, "b": LEAST, "c": LEAST}


@given(st.integers(1, 40))
def test_hits_beyond_the_seeds_follow_in_their_order_and_change_no_other(more: int) -> None:
    scored = [Hit(f"c{place:03}", 1 - place / 1000) for place in range(DENSE_SEEDS + more)]
    shares = prior(scored)
    near, beyond = list(shares.values())[:DENSE_SEEDS], list(shares.values())[DENSE_SEEDS:]
    assert list(shares) == [hit.id for hit in scored]
    assert near == list(prior(scored[:DENSE_SEEDS]).values())
    assert beyond == [LEAST / place for place in range(2, more + 2)]
    assert near[-1] > beyond[0]


def test_chunks_weigh_by_their_share_of_nearness_and_by_the_square_of_their_share_of_words() -> None:
    scored = hits({"a": 9.0, "b": 6.0, "c": 3.0})
    near, worded = seeds(dense=scored).chunks, seeds(keyword=scored).chunks
    assert near == pytest.approx({"a": CHUNK_WEIGHT, "b": CHUNK_WEIGHT / 2, "c": CHUNK_WEIGHT * LEAST})
    assert worded == pytest.approx({"a": WORDS_WEIGHT, "b": WORDS_WEIGHT / 4, "c": WORDS_WEIGHT * LEAST**2})


def test_a_chunk_that_is_near_and_shares_words_has_both_weights() -> None:
    found = seeds(dense=hits({"a": 0.9, "b": 0.5}), keyword=hits({"b": 8.0, "c": 1.0})).chunks
    assert found == pytest.approx(
        {"a": CHUNK_WEIGHT, "b": CHUNK_WEIGHT * LEAST + WORDS_WEIGHT, "c": WORDS_WEIGHT * LEAST**2}
    )


def test_chunks_that_share_as_much_with_the_words_weigh_together_at_most_as_one() -> None:
    equal = seeds(keyword=alike(30)).chunks
    assert equal == pytest.approx(dict.fromkeys(equal, WORDS_WEIGHT / 30**2))
    assert len(equal) == 30
    assert seeds(dense=alike(30)).chunks == dict.fromkeys(equal, CHUNK_WEIGHT)


def test_nothing_like_the_question_is_no_start() -> None:
    assert seeds().chunks == seeds().starts({}) == {}


def test_a_name_weighs_less_the_more_chunks_mention_it() -> None:
    ada, bob = name("ada"), name("bob", mentions=4)
    starts = seeds(names=[ada, bob]).starts({"ada": ada, "bob": bob})
    assert starts == pytest.approx({name_node("ada"): NAME_WEIGHT, name_node("bob"): NAME_WEIGHT / 4})


def test_a_name_in_the_question_near_it_and_in_a_fact_near_it_weighs_for_each() -> None:
    ada, bob = name("ada"), name("bob")
    asked = seeds(names=[ada], entities={"thing:ada": 0.8, "person:ada": 0.7}, facts={"thing:ada|met|thing:bob": 0.7})
    assert asked.starts({"ada": ada, "bob": bob}) == pytest.approx(
        {name_node("ada"): 0.7 + NAME_WEIGHT + NAME_WEIGHT * 0.8, name_node("bob"): 0.7}
    )


def test_a_fact_that_names_nothing_of_the_question_counts_for_what_it_is_nearer_than_far() -> None:
    near = seeds(facts={"thing:ada|met|thing:bob": 0.8, "thing:cat|met|thing:dan": FAR_FACT - 0.1})
    known = {one: name(one) for one in ("ada", "bob", "cat", "dan")}
    weight = (0.8 - FAR_FACT) / (1 - FAR_FACT)
    assert near.starts(known) == pytest.approx({name_node("ada"): weight, name_node("bob"): weight})


def test_a_name_that_is_not_visible_is_no_start_and_a_chunk_is_no_name() -> None:
    asked = seeds(names=[name("ada")], keyword=[Hit("ada", 2.0)])
    assert asked.starts({}) == pytest.approx({chunk_node("ada"): WORDS_WEIGHT})
