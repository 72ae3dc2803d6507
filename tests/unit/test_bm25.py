"""Tokens and term weights of keyword search."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork.domain.bm25 import (
    AVERAGE_LENGTH,
    K1,
    B,
    document_terms,
    outline_query_terms,
    query_terms,
    term_id,
    tokenise,
)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("The retry budget.", ["the", "retry", "budget"]),
        ("retry_budget", ["retry_budget", "retry", "budget"]),
        ("__init__", ["init"]),
        ("retry-budget", ["retry-budget", "retry", "budget"]),
        ("HTTP2Server", ["http2server", "http", "server"]),
        ("parseHTTPResponse", ["parsehttpresponse", "parse", "http", "response"]),
        ("INC-2041", ["inc-2041", "inc", "2041"]),
        ("v1.2.3", ["v1.2.3", "v1", "2", "3"]),
        ("a/b.py", ["a/b.py", "a", "b", "py"]),
        ("ana@example.org", ["ana@example.org", "ana", "example", "org"]),
        ("C, C++ and C#", ["c", "c++", "c", "and", "c#", "c"]),
        ("A+B", ["a", "b"]),
        ("Ana's don’t", ["ana", "don't", "don", "t"]),
        ("Café CAFE\u0301 Straße ﬁ İstanbul", ["cafe", "cafe", "strasse", "fi", "istanbul"]),
        ("Москва, القاهرة हिन्दी", ["москва", "القاهرة", "हिन्दी"]),
        ("苹果手机 茶", ["苹果", "果手", "手机", "茶"]),
        ("iPhone手机", ["iphone", "phone", "手机"]),
        ("ไทย", ["ไท", "ทย"]),
        ("한국어 검색", ["한국어", "검색"]),
        ("re\u00adtry x\u200by", ["retry", "x", "y"]),
        ("end.\nNext", ["end", "next"]),
        ("", []),
        ("😀 ... \0 \ud800 --", []),
    ],
)
def test_a_text_gives_its_words_and_the_parts_of_its_identifiers(text: str, tokens: list[str]) -> None:
    assert tokenise(text) == tokens


def test_a_document_in_a_script_without_spaces_is_found_by_one_of_its_characters() -> None:
    assert query_terms("茶").keys() <= document_terms("绿茶好").keys()


def test_a_query_weighs_each_distinct_term_once() -> None:
    assert query_terms("error error timeout") == {term_id("error"): 1.0, term_id("timeout"): 1.0}


def test_a_documents_weights_are_those_of_bm25_with_a_constant_average_length() -> None:
    norm = K1 * (1 - B + B * 3 / AVERAGE_LENGTH)
    assert document_terms("error error timeout") == {
        term_id("error"): pytest.approx(2 * (K1 + 1) / (2 + norm)),
        term_id("timeout"): pytest.approx(1 * (K1 + 1) / (1 + norm)),
    }


def test_a_term_id_never_changes_for_stored_points_carry_it() -> None:
    assert term_id("retry_budget") == 3210393048


@given(st.text())
def test_any_text_has_terms_and_a_query_of_it_finds_it(text: str) -> None:
    terms = document_terms(text)
    assert all(0 <= term < 2**32 and 0 < weight <= K1 + 1 for term, weight in terms.items())
    assert query_terms(text).keys() <= terms.keys()


def test_terms_of_title_and_headings_are_met_by_a_search_over_them_alone() -> None:
    plain, outlined = document_terms("lunch at noon"), document_terms("lunch at noon", "The retry budget")
    assert query_terms("retry budget").keys().isdisjoint(outlined)
    assert {term: outlined[term] for term in plain} == plain
    asked = outline_query_terms("retry noon")
    met = {term: weight * outlined[term] for term, weight in asked.items() if term in outlined}
    assert len(met) == 2
    assert max(met.values()) > 500 * min(met.values())


@given(st.text(), st.text())
def test_the_terms_of_two_texts_are_those_of_each(one: str, other: str) -> None:
    assert query_terms(f"{one}\n{other}").keys() == query_terms(one).keys() | query_terms(other).keys()


@given(st.from_regex("[a-zäß]+( [a-zäß]+)*", fullmatch=True))
def test_words_are_compared_without_case(text: str) -> None:
    assert query_terms(text.upper()) == query_terms(text)
