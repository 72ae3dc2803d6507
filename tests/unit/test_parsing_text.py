"""Plain text in its encodings, the choice of a parser, and titles."""

from __future__ import annotations

import codecs
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork.adapters.parsing.registry import PARSERS, TEXT, WORD, detect, parse_bytes
from knotwork.errors import InvalidInput, UnsupportedDocument

CHINESE = "人工智能是计算机科学的一个分支。它企图了解智能的实质，并生产出一种新的智能机器。"
JAPANESE = "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。"
FRENCH = "Le café était fermé à midi — “voilà”, dit Élodie. Où êtes-vous allé hier soir ?"


def text_of(data: bytes, name: str = "notes.txt") -> str:
    return parse_bytes(data, name)[0].text


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("utf-8", "Straße 漢字 😀"),
        ("utf-8-sig", "with a mark"),
        ("utf-16", "Straße 漢字"),
        ("utf-32", "Straße 漢字"),
        ("utf-16-le", "mostly Latin, no mark"),
        ("utf-16-be", "mostly Latin, no mark"),
        ("cp1252", FRENCH),
        ("cp1250", "Zażółć gęślą jaźń. Cześć, jak się masz? Proszę o kawę i źródło światła."),
        ("cp1251", "Москва является столицей России. Это большой город на реке."),
        ("gb18030", CHINESE),
        ("gb18030", CHINESE * 2_000),
        ("shift_jis", JAPANESE),
        ("big5", "人工智慧是電腦科學的一個分支，它企圖了解智慧的實質。"),
        ("euc_kr", "안녕하세요 세계 여러분 만나서 반갑습니다"),
    ],
)
def test_text_is_read_in_the_encoding_it_was_written_in(encoding: str, text: str) -> None:
    assert text_of(text.encode(encoding)) == text


@pytest.mark.parametrize(
    "data",
    [
        random.Random(3).randbytes(5_000),
        b"\x89PNG\r\n\x1a\n",
        b"PK\x03\x04....",
        b"%PDF-1.7",
        b"\0" * 400,
        b"plain \x01\x02\x03\x04\x05",
        codecs.BOM_UTF16_LE + b"odd",
    ],
)
def test_a_binary_under_a_text_name_is_refused_with_a_reason(data: bytes) -> None:
    with pytest.raises(UnsupportedDocument, match=r"notes\.txt"):
        parse_bytes(data, "notes.txt")


def test_line_ends_become_newlines_and_nul_is_dropped() -> None:
    assert text_of(b"one\r\ntwo\rthree" + b"." * 200 + b"\0\n\n") == "one\ntwo\nthree" + "." * 200


@pytest.mark.parametrize("media_type", [None, *PARSERS])
@pytest.mark.parametrize("data", [b"", b" \r\n\t"])
def test_an_empty_document_of_any_type_is_an_empty_text(data: bytes, media_type: str | None) -> None:
    assert text_of(data) == ""
    assert parse_bytes(data, "empty", media_type)[0].text == ""


@pytest.mark.parametrize(
    ("name", "media_type", "data", "expected"),
    [
        ("a.MD", None, b"x", "text/markdown"),
        ("folder.x/a.htm", None, b"x", "text/html"),
        ("a.csv", "text/plain; charset=utf-8", b"x", "text/csv"),
        ("a.txt", "text/markdown", b"x", "text/markdown"),
        ("a.ndjson", "application/octet-stream", b"x", "application/jsonl"),
        ("a", None, b"%PDF-1.4", "application/pdf"),
        ("a", "", b"PK\x03\x04 word/document.xml", WORD),
        ("a.unknown", None, b"x", TEXT),
        ("a", "application/json", b"{}", TEXT),
    ],
)
def test_the_type_is_the_declared_one_then_the_names_then_the_contents(
    name: str, media_type: str | None, data: bytes, expected: str
) -> None:
    assert detect(data, name, media_type) == expected


def test_a_declared_type_that_nothing_reads_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedDocument, match="image/png"):
        detect(b"", "a.txt", "image/png")


def test_a_title_is_the_documents_own_then_its_first_heading_then_the_stem_of_its_name() -> None:
    assert parse_bytes(b"---\ntitle: Own\n---\n# Heading", "a.md")[0].title == "Own"
    assert parse_bytes(b"## Two\n\n# One", "a.md")[0].title == "One"
    assert parse_bytes(b"text", "docs\\guide/retry budget.v2.txt")[0].title == "retry budget.v2"


@given(st.binary(max_size=400), st.sampled_from(sorted(PARSERS)))
def test_any_bytes_give_a_text_with_sorted_offsets_or_a_named_refusal(data: bytes, media_type: str) -> None:
    try:
        parsed, _ = parse_bytes(data, "any", media_type)
    except (UnsupportedDocument, InvalidInput):
        return
    assert "\r" not in parsed.text
    assert "\0" not in parsed.text
    assert parsed.headings == tuple(sorted(parsed.headings))
    assert all(parsed.text.startswith(heading.text, heading.start) for heading in parsed.headings)
    assert parse_bytes(data, "any", media_type)[0] == parsed
