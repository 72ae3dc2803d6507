"""Names that are spelt nearly alike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork.domain.near_names import are_near
from knotwork.domain.normalise import normalise_name

WORDS = st.lists(st.sampled_from(["ana", "m", "maria", "ruiz", "inc", "budgets", "budget", "23", "3"]), max_size=4)


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("retry budgets", "Retry Budget"),
        ("policies", "Policy"),
        ("switches", "switch"),
        ("data-base", "database"),
        ("Ana M. Ruiz", "Ana Ruiz"),
        ("J. M. Ruiz", "José Maria Ruiz"),
        ("Acme, Inc.", "ACME"),
        ("Martin King Jr.", "Martin King"),
    ],
)
def test_what_differs_in_writing_alone_is_near(name: str, other: str) -> None:
    assert are_near(normalise_name(name), normalise_name(other))


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("York", "New York"),
        ("Ana Ruiz", "Ana Maria Ruiz"),
        ("Ana Ruiz", "Eva Ruiz"),
        ("Ana R.", "Ana Ruiz"),
        ("Windows 10", "Windows 1"),
        ("2 30", "23 0"),
        ("chess", "ches"),
        ("gas", "ga"),
        ("Henry V", "Henry"),
        ("Ruiz", "ruiz"),
    ],
)
def test_what_may_mean_another_thing_is_not(name: str, other: str) -> None:
    assert not are_near(normalise_name(name), normalise_name(other))


@given(WORDS.map(" ".join), WORDS.map(" ".join))
def test_nearness_is_mutual_and_no_name_is_near_itself(name: str, other: str) -> None:
    assert are_near(name, other) == are_near(other, name)
    assert not are_near(name, name)
