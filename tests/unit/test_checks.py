from __future__ import annotations

from typing import Any

import pytest

from knotwork.domain.checks import checked_metadata, checked_ref, checked_subjects
from knotwork.domain.model import EVERYONE, SourceRef
from knotwork.errors import InvalidInput


@pytest.mark.parametrize("id_", ["./data/x y.txt", "a/../b", "📄", "x" * 4096, "?", "#", "%2F", "dir/", "\n"])
def test_any_id_that_is_not_empty_names_a_source(id_: str) -> None:
    assert checked_ref("document", id_) == SourceRef("document", id_)


def test_what_no_store_keeps_is_cleaned_from_an_id() -> None:
    assert checked_ref("document", "a\0b\ud800").id == "ab\ufffd"


@pytest.mark.parametrize(
    ("type_", "id_", "reason"),
    [
        ("Incident Report", "x", "'incident-report'"),
        ("t" * 65, "x", "64"),
        ("document", "", "empty"),
        ("document", "\0", "empty"),
        ("document", "é" * 2049, "4098 bytes"),
    ],
)
def test_a_name_of_no_use_is_refused_with_the_reason(type_: str, id_: str, reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        checked_ref(type_, id_)


def test_no_subjects_mean_everyone_and_given_ones_are_a_sorted_set() -> None:
    assert checked_subjects(None) == (EVERYONE,)
    assert checked_subjects(["user:b", "user:a", "user:b"]) == ("user:a", "user:b")


@pytest.mark.parametrize("subjects", [[], [""], [" a"], ["a,b"], ["a\nb"], ["a\u202eb"], ["x" * 257], ["a"] * 1001])
def test_subjects_that_would_open_a_source_by_mistake_are_refused(subjects: list[str]) -> None:
    with pytest.raises(InvalidInput):
        checked_subjects(subjects)


def test_flat_metadata_stays_as_it_is() -> None:
    raw = {"team": "a", "n": 1, "x": 0.5, "yes": True, "tags": ["a", "b"], "sizes": [1, 2.5], "none": []}
    assert checked_metadata(raw) == raw


@pytest.mark.parametrize(
    "raw",
    [
        {"a": None},
        {"a": {"b": 1}},
        {"a": [[1]]},
        {"a": [1, "b"]},
        {"a": [True]},
        {"a": float("nan")},
        {"a": float("inf")},
        {"a": 2**63},
        {"a b": 1},
        {"a.b": 1},
        {"": 1},
        {"\ud800": 1},
        {"x" * 65: 1},
        {"a": "x" * 70_000},
        {str(number): 1 for number in range(101)},
    ],
)
def test_metadata_that_cannot_be_stored_and_filtered_on_is_refused(raw: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        checked_metadata(raw)
