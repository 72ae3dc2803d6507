"""Merged entities and relationships are a pure function of the set of their evidence."""

from __future__ import annotations

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from knotwork.domain.ids import relationship_id
from knotwork.domain.merge import (
    best_description,
    better_description,
    canonical_name,
    merge_contributions,
    merge_entities,
)
from knotwork.domain.model import ChunkId, Contribution, Entity, EntityId, Relationship
from knotwork.domain.sanitise import sanitise_extraction

A, B, C = (ChunkId(letter) for letter in "abc")
ADA, BOB = EntityId("person:ada"), EntityId("person:bob")

NAMES = st.sampled_from(["Ada", "ADA", "ada!", "Bob", "bob", "C++", "😀"])
TEXTS = st.sampled_from(["", "aa", "bb", "b", "ccc", "é", "😀x"])  # with ties in length
ENTITIES = st.fixed_dictionaries({"name": NAMES, "description": TEXTS, "type": st.sampled_from(["x", "y"])})
RELATIONSHIPS = st.fixed_dictionaries({"from": NAMES, "to": NAMES, "description": TEXTS})
RAW = st.fixed_dictionaries(
    {"entities": st.lists(ENTITIES, max_size=5), "relationships": st.lists(RELATIONSHIPS, max_size=5)}
)
CLOSED = st.builds(sanitise_extraction, st.sampled_from([A, B, C]), RAW)
PARTS = st.lists(CLOSED, max_size=5)


def ada(chunk: ChunkId, *, name: str = "Ada", description: str = "") -> Entity:
    return Entity(ADA, "person", name, description, (name,), (chunk,))


def bob(chunk: ChunkId) -> Entity:
    return Entity(BOB, "person", "Bob", "", ("Bob",), (chunk,))


def knows(*chunks: ChunkId, description: str = "") -> Relationship:
    return Relationship(relationship_id(ADA, "knows", BOB), ADA, BOB, "knows", description, chunks)


def test_nothing_merges_to_nothing() -> None:
    assert merge_contributions([]) == Contribution()
    assert merge_contributions([Contribution(), Contribution()]) == Contribution()


def test_an_entity_has_the_first_name_the_longest_description_and_all_evidence() -> None:
    evidence = [
        ada(C, name="ada", description="bb"),
        ada(A, name="Ada", description="aa"),
        ada(B, name="ADA", description="z"),
    ]
    merged = Entity(ADA, "person", "ADA", "aa", ("ADA", "Ada", "ada"), (A, B, C))
    for order in permutations(evidence):
        assert merge_entities(order) == merged
        assert merge_contributions(Contribution((entity,)) for entity in order) == Contribution((merged,))


def test_the_weight_of_a_relationship_counts_its_chunks() -> None:
    parts = [Contribution((ada(chunk), bob(chunk)), (knows(chunk),)) for chunk in (A, B, A, A)]
    (edge,) = merge_contributions(parts).relationships
    assert edge.provenance == (A, B)
    assert edge.weight == 2


def test_evidence_that_is_not_sorted_or_repeats_comes_out_as_a_sorted_set() -> None:
    messy = Contribution((bob(B), ada(A)), (knows(B, A, B, description="x"), knows(A, description="y")))
    merged = merge_contributions([messy])
    assert merged == Contribution((ada(A), bob(B)), (knows(A, B, description="x"),))


def test_a_relationship_survives_when_the_whole_holds_its_ends() -> None:
    edge = Contribution((), (knows(A),))
    left, right = Contribution((ada(A),)), Contribution((bob(B),))
    assert merge_contributions([edge, left, right]).relationships == (knows(A),)
    assert merge_contributions([edge, left]).relationships == ()
    assert merge_contributions([edge, right]).relationships == ()


def test_a_shared_entity_has_the_relationships_of_both_documents() -> None:
    today = sanitise_extraction(A, {"entities": [{"name": "X"}, {"name": "P"}], "edges": [{"from": "X", "to": "P"}]})
    tomorrow = sanitise_extraction(B, {"entities": [{"name": "X"}, {"name": "Q"}], "edges": [{"from": "X", "to": "Q"}]})
    merged = merge_contributions([today, tomorrow])
    assert [edge.to_id for edge in merged.relationships] == ["concept:p", "concept:q"]
    assert {edge.from_id for edge in merged.relationships} == {"concept:x"}


def test_the_better_description_is_the_longer_then_the_first() -> None:
    assert better_description("long", "x") == "long"
    assert better_description("b", "a") == "a"
    assert better_description("", "a") == "a"
    assert better_description("😀", "zz") == "zz"  # length is in code points
    assert best_description([]) == ""
    assert canonical_name(["b", "B", "a"]) == "B"


@given(st.lists(TEXTS | st.text()))
def test_the_best_description_is_the_better_of_any_two_again_and_again(texts: list[str]) -> None:
    best = ""
    for text in texts:
        best = better_description(text, best)
        assert best == better_description(best, text)
    assert best == best_description(texts)


@given(st.data())
def test_merging_is_commutative(data: st.DataObject) -> None:
    parts = data.draw(PARTS)
    assert merge_contributions(data.draw(st.permutations(parts))) == merge_contributions(parts)


@given(PARTS, PARTS, PARTS)
def test_merging_is_associative(a: list[Contribution], b: list[Contribution], c: list[Contribution]) -> None:
    whole = merge_contributions([*a, *b, *c])
    assert merge_contributions([merge_contributions([*a, *b]), *c]) == whole
    assert merge_contributions([*a, merge_contributions([*b, *c])]) == whole


@given(PARTS)
def test_merging_is_idempotent(parts: list[Contribution]) -> None:
    merged = merge_contributions(parts)
    assert merge_contributions([merged]) == merged
    assert merge_contributions([merged, merged, *parts]) == merged


@given(PARTS)
def test_a_merged_whole_is_closed_sorted_and_complete(parts: list[Contribution]) -> None:
    merged = merge_contributions(parts)
    ids = [entity.id for entity in merged.entities]
    assert ids == sorted({entity.id for part in parts for entity in part.entities})
    edges = [edge.id for edge in merged.relationships]
    assert edges == sorted({edge.id for part in parts for edge in part.relationships})
    assert all({edge.from_id, edge.to_id} <= set(ids) for edge in merged.relationships)


def test_a_hub_of_twenty_thousand_mentions_is_merged_at_once() -> None:
    parts = [Contribution((ada(ChunkId(f"{i:05}"), name=f"Ada{i % 3}"),)) for i in range(20_000)]
    (hub,) = merge_contributions(parts).entities
    assert len(hub.provenance) == 20_000
    assert hub.surface_forms == ("Ada0", "Ada1", "Ada2")
