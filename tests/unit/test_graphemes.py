"""Graphemes and sentences against the Unicode rules of the `regex` module."""

from __future__ import annotations

from unicodedata import category

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from knotwork.domain.graphemes import is_boundary
from knotwork.domain.sentences import paragraphs, sentences, trimmed

JOINING = "e\u0301\u200d\u200c\ufe0f👨👩🏽🇩🇪ᄀ가각ᅡᆨक्षिகிन\u094d\r\n\u0600 ำ한\U000e0067\U0001f3f4❤ﾞか\u200b\u00ad"
TEXTS = st.text(st.one_of(st.sampled_from(JOINING), st.characters()), max_size=30)


def boundaries(text: str) -> set[int]:
    return {0} | {found.end() for found in regex.finditer(r"\X", text)}


@given(TEXTS)
def test_a_place_called_a_boundary_never_lies_within_a_grapheme(text: str) -> None:
    right = boundaries(text)
    assert {at for at in range(len(text) + 1) if is_boundary(text, at)} <= right


@given(TEXTS)
def test_the_answer_is_no_bolder_from_a_known_boundary_on(text: str) -> None:
    right = boundaries(text)
    for since in right:
        assert {at for at in range(since, len(text) + 1) if is_boundary(text, at, since=since)} <= right


@pytest.mark.parametrize(
    "text", ["plain words", "漢字かな", "Москва", "🇩🇪🇫🇷", "👍🏽👍", "가나다", "naïve cafe\u0301s", "नमस्ते"]
)
def test_usual_text_is_cut_wherever_unicode_allows(text: str) -> None:
    assert {at for at in range(len(text) + 1) if is_boundary(text, at)} == boundaries(text)


@given(TEXTS)
def test_trimming_keeps_graphemes_whole_and_loses_only_white_space(text: str) -> None:
    for start, end in trimmed(text, 0, len(text)):
        assert {start, end} <= boundaries(text)
        assert not text[:start].strip()
        assert not text[end:].strip()
    assert list(trimmed(text, 0, len(text))) or not text.strip()


def cut(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text, 0, len(text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It rained. We left! Why? Nobody knows", ["It rained.", "We left!", "Why?", "Nobody knows"]),
        (
            "Mr. Scrooge met J. Marley. He said “No.” Then left.",
            ["Mr. Scrooge met J. Marley.", "He said “No.”", "Then left."],
        ),
        ("Costs rose 3.5 percent, e.g. rents. Done.", ["Costs rose 3.5 percent, e.g. rents.", "Done."]),
        ("天气很好。我们走吧！「为什么？」没人知道", ["天气很好。", "我们走吧！", "「为什么？」", "没人知道"]),
        ("वह गया। वह आया।", ["वह गया।", "वह आया।"]),
        ("هل ذهب؟ نعم۔ لا", ["هل ذهب؟", "نعم۔", "لا"]),
    ],
)
def test_sentences_end_where_a_reader_ends_them(text: str, expected: list[str]) -> None:
    assert cut(text) == expected


@given(TEXTS)
def test_sentences_of_paragraphs_hold_every_character_but_white_space(text: str) -> None:
    spans = [span for paragraph in paragraphs(text, 0, len(text)) for span in sentences(text, *paragraph)]
    held = {at for start, end in spans for at in range(start, end)}
    assert all(at in held for at, char in enumerate(text) if not char.isspace())
    assert spans == sorted(spans)


def test_unassigned_characters_join_what_stands_before_them() -> None:
    unassigned = next(chr(code) for code in range(0x30000, 0x40000) if category(chr(code)) == "Cn")
    assert not is_boundary("a" + unassigned, 1)
