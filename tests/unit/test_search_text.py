"""Whether a text holds another, however both are written."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork.domain.search_text import Needle
from knotwork.errors import InvalidInput


@pytest.mark.parametrize(
    ("needle", "text"),
    [
        ("diabetes", "X has DIABETES."),
        ("Café", "das cafe\u0301 am Platz"),
        ("cafe\u0301", "das Café am Platz"),
        ("STRASSE", "in der Straße"),
        ("retry budget", "the retry\n  budget"),
        ("\u212b", "10 Å"),
    ],
)
def test_case_composition_and_white_space_do_not_count(needle: str, text: str) -> None:
    assert Needle(needle).is_in(text)


def test_ids_are_searched_for_the_normalised_name_as_whole_words() -> None:
    assert Needle("Retry-Budget").is_in("concept:retry budget|has|team:sre", field="id")
    assert not Needle("Retry-Budget").is_in("concept:retry budgets", field="id")
    assert not Needle("Retry-Budget").is_in("the retry budget", field="text")


def test_what_is_not_there_is_not_found() -> None:
    assert not Needle("diabetes").is_in("X is well")


@pytest.mark.parametrize("text", ["", " \n"])
def test_nothing_cannot_be_looked_for(text: str) -> None:
    with pytest.raises(InvalidInput):
        Needle(text)


@given(st.text(max_size=10), st.text(min_size=1, max_size=10).filter(str.strip), st.text(max_size=10))
def test_a_text_is_found_in_what_was_built_around_it(before: str, text: str, after: str) -> None:
    for form in ("NFC", "NFD"):
        assert Needle(text).is_in(f"{before} {unicodedata.normalize(form, text)} {after}")
