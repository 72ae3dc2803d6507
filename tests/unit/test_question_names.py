"""Names found in questions, in scripts with and without spaces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork.domain.normalise import normalise_name
from knotwork.domain.question_names import MAX_RUNS, NAME_CHARS, longest_first, names_in

WORDS = st.sampled_from(
    ["Ada", "Lovelace", "the", "C++", "苹果", "公司", "서울의", "ไทย", "mother's", "II", "—", "\u0301"]
)


def found(question: str, *known: str) -> list[str]:
    return [span.name for span in longest_first(names_in(question), {normalise_name(name) for name in known})]


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("When did Lothair II's mother die?", "Lothair II"),
        ("who leads the retry-budget team?", "Retry Budget"),
        ("Is C++ older than C#?", "C#"),
        ("Is C++ older than C#?", "C++"),
        ("苹果公司的总部在哪里？", "苹果公司"),
        ("アップルの本社はどこ", "アップル"),
        ("서울의 시장은 누구입니까", "서울"),
        ("ใครเป็นนายกเทศมนตรีกรุงเทพมหานคร", "กรุงเทพมหานคร"),
        ("iPhone手机是谁做的", "iphone"),
        ("Кто живёт в Москве, в МОСКВА-Сити", "Москва-сити"),
        ("who was in The A Team", "The A Team"),
        ("東京 と 京", "京"),
        ("من كتب كِتَاب الحيوان؟", "كتاب الحيوان"),
    ],
)
def test_a_name_is_found_wherever_it_stands(question: str, name: str) -> None:
    assert found(question, name) == [normalise_name(name)]


def test_the_longest_name_takes_its_words() -> None:
    assert found("the mayor of New York City, York", "New York", "New York City", "York", "City") == [
        "new york city",
        "york",
    ]


def test_of_overlapping_names_of_one_length_the_left_one_is_taken() -> None:
    assert found("alpha beta gamma", "alpha beta", "beta gamma") == ["alpha beta"]


def test_one_character_within_a_word_is_no_name() -> None:
    assert found("苹果公司", "果") == []
    assert found("서울의", "의") == []


def test_a_word_of_a_script_with_spaces_is_never_cut() -> None:
    assert found("Adagio for strings", "Ada") == []


def test_a_very_long_word_is_read_to_its_end() -> None:
    assert found("你" * 1000 + "苹果公司", "苹果公司") == ["苹果公司"]
    assert found("你" * 2000 + "苹果", "苹果") == ["苹果"]


@given(st.lists(WORDS, max_size=12), st.sampled_from(["", " "]))
def test_a_whole_question_is_among_its_names_when_it_is_short(words: list[str], joint: str) -> None:
    question = joint.join(words)
    whole = " ".join(word for part in question.split() for word in normalise_name(part).split())
    names = {span.name for span in names_in(question)}
    if len(whole.split()) <= 10 and 1 < len(whole) <= NAME_CHARS:
        assert whole in names


@given(st.lists(WORDS, max_size=40).map(" ".join))
def test_the_number_of_names_grows_with_the_question_and_no_faster(question: str) -> None:
    assert len(names_in(question)) <= NAME_CHARS * len(question)


@given(st.lists(WORDS, max_size=12).map(" ".join), st.sets(st.integers(0, 60), max_size=8))
def test_no_two_chosen_names_share_a_word(question: str, picks: set[int]) -> None:
    spans = names_in(question)
    known = {spans[place].name for place in picks if place < len(spans)}
    chosen = longest_first(spans, known)
    places = [place for span in chosen for place in range(span.start, span.end)]
    assert len(places) == len(set(places))
    assert bool(chosen) == bool(known)


@pytest.mark.parametrize("question", ["ada " * 1900, "苹果" * 1000, "ไทย" * 600, "a " * 4000, "x" * 8000])
def test_the_longest_question_has_a_bounded_number_of_runs(question: str) -> None:
    assert 0 < len(names_in(question)) <= MAX_RUNS


def test_a_name_stands_at_the_end_of_a_long_question_too() -> None:
    assert found("word " * 1500 + "Ada Lovelace", "Ada Lovelace") == ["ada lovelace"]
