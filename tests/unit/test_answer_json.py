from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork.adapters.models.answer_json import Unparseable, read_answer

ADA = {"entities": [{"name": "Ada", "type": "person"}], "relationships": []}
JSON = json.dumps(ADA)
FIELDS = st.fixed_dictionaries(
    {"entities": st.lists(st.dictionaries(st.text(max_size=5), st.text() | st.integers(), max_size=3), max_size=3)}
)


@pytest.mark.parametrize(
    "text",
    [
        JSON,
        f"```json\n{JSON}\n```",
        f"```\n{JSON}\n```\nI hope this helps!",
        f"Here is the answer:\n{JSON}",
        JSON + "+more",
        JSON[:-1] + ",}",
        JSON.replace('"person"}]', '"person",},]'),
        JSON.replace('"', "'"),
        f'<think>Is {{"entities": []}} right?</think>{JSON}',
        JSON + '\n{"note": "that was all"}',
        "\ufeff" + JSON,
    ],
)
def test_json_in_any_dress_is_read(text: str) -> None:
    assert read_answer(text) == ADA


def test_an_answer_cut_at_half_keeps_what_was_complete() -> None:
    whole = {"entities": [{"name": "Ada", "type": "person"}, {"name": "Bob", "type": "person"}]}
    text = json.dumps(whole)
    answer = read_answer(text[: text.index("Bob")])
    assert isinstance(answer, dict)
    assert answer["entities"][0] == {"name": "Ada", "type": "person"}


@pytest.mark.parametrize("text", ["[]", '[{"name": "Ada"}]', "{}", '{"entities": null}', '{"type": "object"}'])
def test_valid_json_of_another_shape_is_left_to_the_sanitiser(text: str) -> None:
    assert read_answer(text) == json.loads(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "null",
        "42",
        '"text"',
        "I am sorry, I cannot help with that.",
        "The names are [Ada] and [Bob].",
        "The set {Ada, Bob} is all there is.",
        "<think>I never stop thinking about {",
        "[" * 100_000,
        "9" * 10_000,
        '{"enti',
    ],
    ids=range(12),
)
def test_what_holds_no_extraction_is_unparseable(text: str) -> None:
    with pytest.raises(Unparseable):
        read_answer(text)


@given(FIELDS)
def test_every_object_written_as_json_is_read_as_it_is(value: dict[str, object]) -> None:
    assert read_answer(json.dumps(value)) == value


@given(st.text())
def test_any_text_is_either_read_or_unparseable(text: str) -> None:
    with contextlib.suppress(Unparseable):
        assert isinstance(read_answer(text), dict | list)
