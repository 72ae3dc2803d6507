from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork.domain.model import ChunkId, Heading, ParsedText, SourceRef
from knotwork.domain.navigation import (
    OUTLINE_HEADINGS,
    Outline,
    outline_headings,
    rank_outlines,
    rank_read,
    sanitise_choice,
)

A, B, C, D = (SourceRef("document", f"{letter}.md") for letter in "abcd")
SHOWN = (A, B, C, D)
PAIRS = [{"type": ref.type, "id": ref.id} for ref in SHOWN]


def _pair(ref: SourceRef) -> dict[str, object]:
    return {"type": ref.type, "id": ref.id}


def _nested(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    pairs = st.sampled_from(SHOWN).map(_pair)
    return st.lists(inner) | st.dictionaries(st.sampled_from(["documents", "type", "id", "x"]), inner) | pairs


leaves: st.SearchStrategy[object] = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["document", "a.md", "b.md"])
)
any_json = st.recursive(leaves, _nested, max_leaves=20)


def test_what_was_not_shown_is_repeated_or_over_the_limit_is_dropped() -> None:
    raw = {
        "documents": [
            PAIRS[1],
            {"type": "page", "id": "a.md"},  # ids are pairs: another type is another document
            PAIRS[1],
            {"type": "document", "id": "z.md"},
            "a.md",
            {"id": "a.md"},
            PAIRS[0],
            PAIRS[2],
            PAIRS[3],
        ]
    }
    chosen = sanitise_choice(raw, SHOWN, 3)
    assert chosen.refs == (B, A, C)
    assert chosen.dropped == 6


@pytest.mark.parametrize("raw", [None, "prose", 3, {}, {"documents": None}, {"documents": "a.md"}, [], {"x": PAIRS}])
def test_an_answer_of_no_such_form_names_nothing(raw: object) -> None:
    assert sanitise_choice(raw, SHOWN, 3).refs == ()


def test_a_bare_list_is_read_as_well() -> None:
    assert sanitise_choice(PAIRS[:2], SHOWN, 3).refs == (A, B)


@given(any_json, st.integers(min_value=1, max_value=4))
def test_any_answer_gives_a_choice_of_distinct_documents_that_were_shown(raw: object, limit: int) -> None:
    chosen = sanitise_choice(raw, SHOWN, limit)
    assert len(chosen.refs) <= limit
    assert len(set(chosen.refs)) == len(chosen.refs)
    assert set(chosen.refs) <= set(SHOWN)
    assert chosen.dropped >= 0


def test_headings_come_in_the_order_of_the_text_without_blank_ones_and_without_end() -> None:
    parsed = ParsedText("x" * 50, "T", (Heading(20, 2, "second"), Heading(3, 1, " first "), Heading(30, 1, " ")))
    assert outline_headings(parsed) == ["first", "second"]
    many = ParsedText("x", "T", tuple(Heading(place, 1, "h" * 999) for place in range(2000)))
    assert len(outline_headings(many)) == OUTLINE_HEADINGS
    assert max(map(len, outline_headings(many))) == 200


def test_outlines_are_ranked_by_the_words_of_id_title_and_headings_rare_ones_first() -> None:
    outlines = [
        Outline(A, "The rota", ("Weeks",)),
        Outline(B, "The gateway", ("Owners", "The retry budget")),
        Outline(C, "The ledger"),
        Outline(SourceRef("document", "policies/key-rotation.txt"), "Untitled"),
    ]
    assert rank_outlines("what is the retry budget?", outlines)[0] == outlines[1]
    assert rank_outlines("key rotation", outlines)[0] == outlines[3]


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("苹果在哪里", "关于苹果"),
        ("где Москва?", "Москва"),
        ("القاهرة", "عن القاهرة"),
        ("INC-2041", "inc-2041"),
        ("C++", "C++"),
    ],
)
def test_outlines_of_any_script_are_found_by_their_words(question: str, title: str) -> None:
    outlines = [Outline(A, "香蕉"), Outline(B, "Заметки"), Outline(C, "C and C#"), Outline(D, title)]
    assert rank_outlines(question, outlines)[0].ref == D


def test_what_a_passage_says_counts_as_much_as_the_outline_whatever_its_scale() -> None:
    outlines = [Outline(A, "Rota", word_score=80.0), Outline(B, "Retry", word_score=50.0), Outline(C, "Retry")]
    assert [one.ref for one in rank_outlines("retry budget", outlines)] == [B, A, C]


def test_outlines_that_say_the_same_stay_in_the_order_of_the_search() -> None:
    outlines = [Outline(ref, "Report") for ref in (C, A, B)]
    assert rank_outlines("report", outlines) == outlines
    assert rank_outlines("nothing in common", outlines) == outlines


def test_what_was_read_is_ranked_by_the_cosine_of_word_weights() -> None:
    texts = {
        ChunkId("1"): "the retry budget is 10 percent",
        ChunkId("2"): "the gateway has a retry button",
        ChunkId("3"): "lunch is at noon",
    }
    ranked = rank_read("retry budget", texts)
    assert [hit.id for hit in ranked] == ["1", "2", "3"]
    assert ranked[0].score > ranked[1].score > ranked[2].score == 0.0


def test_a_text_that_is_the_question_scores_one() -> None:
    ranked = rank_read("retry budget", {ChunkId("1"): "retry budget", ChunkId("2"): "other words"})
    assert ranked[0].score == pytest.approx(1.0)


@given(st.text(max_size=30), st.dictionaries(st.text("abc", min_size=1).map(ChunkId), st.text(max_size=30), max_size=6))
def test_scores_of_what_was_read_lie_within_the_scale_and_do_not_depend_on_the_order(
    question: str, texts: dict[ChunkId, str]
) -> None:
    ranked = rank_read(question, texts)
    assert {hit.id for hit in ranked} == texts.keys()
    assert all(-1 <= hit.score <= 1 for hit in ranked)
    assert rank_read(question, dict(reversed(texts.items()))) == ranked
    assert json.dumps([hit.score for hit in ranked])
