"""Which relationship a question asks for, by its words."""

from __future__ import annotations

import pytest

from knotwork.domain.asked import asked_types, place_of
from knotwork.domain.paths import Direction

TYPES = ["depends-on", "owns", "directed-by", "uses", "related-to"]


@pytest.mark.parametrize(
    ("question", "name", "direction", "type_"),
    [
        ("What depends, directly or not, on the retry budget?", "retry budget", Direction.IN, "depends-on"),
        ("What does the retry budget depend on?", "retry budget", Direction.OUT, "depends-on"),
        ("Which teams are depending on X?", "x", Direction.IN, "depends-on"),
        ("Who owns checkout?", "checkout", Direction.IN, "owns"),
        ("What is owned by Ana?", "ana", Direction.OUT, "owns"),
        ("Who directed Heat?", "heat", Direction.OUT, "directed-by"),
        ("What was directed by Ana?", "ana", Direction.IN, "directed-by"),
        ("Who USES it?", "it", Direction.IN, "uses"),
    ],
)
def test_a_question_names_a_relationship_and_its_way(
    question: str, name: str, direction: Direction, type_: str
) -> None:
    assert asked_types(question, name, TYPES) == {direction: frozenset({type_})}


def test_a_question_about_nothing_in_particular_names_none() -> None:
    assert asked_types("What is the retry budget?", "retry budget", TYPES) == {}
    assert asked_types("", "x", TYPES) == {}


def test_a_word_of_the_name_itself_is_no_relationship() -> None:
    assert asked_types("What is Owns Ltd?", "owns ltd", TYPES) == {}


def test_a_name_has_a_place_among_the_words_in_any_spelling() -> None:
    assert place_of("Is the Café-Bar ours?", "cafe bar") >= 0
    assert place_of("Is it ours?", "cafe bar") == -1
