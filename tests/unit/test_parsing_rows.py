"""CSV, JSON Lines, and corpora of records."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from knotwork.adapters.parsing.records import Record, expand_jsonl
from knotwork.adapters.parsing.registry import parse_bytes
from knotwork.errors import InvalidInput

DATA = Path(__file__).parents[2].parent / "shared" / "data"


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_a_row_is_a_paragraph_of_named_cells(delimiter: str) -> None:
    rows = [["name", "team"], ["Ana", "SRE"], ["Bo", ""], ["Cy", '"a\nb"', "extra"]]
    table = "\r\n".join(delimiter.join(row) for row in rows).encode()
    assert (
        parse_bytes(table, "people.csv")[0].text
        == "name: Ana\nteam: SRE\n\nname: Bo\n\nname: Cy\nteam: a b\ncolumn 3: extra"
    )


def test_a_cell_of_a_megabyte_is_read() -> None:
    assert len(parse_bytes(b"a,b\n1," + b"x" * 1_000_000, "big.csv")[0].text) > 1_000_000


def test_a_header_without_rows_is_the_text() -> None:
    assert parse_bytes(b"name,team\n", "a.csv")[0].text == "name, team"


def test_a_record_is_a_heading_its_fields_and_its_text() -> None:
    first = '{"title": "Budget", "year": 2020, "text": "One.\\n\\nTwo.", "none": null}'
    lines = (first + '\r\n\n{"id": 7, "tags": ["é"]}\n').encode()
    parsed = parse_bytes(lines, "corpus.jsonl")[0]
    assert parsed.text == 'Budget\n\nyear: 2020\n\nOne.\n\nTwo.\n\n7\n\ntags: ["é"]'
    assert [heading.text for heading in parsed.headings] == ["Budget", "7"]
    assert parsed.title == "corpus"


@pytest.mark.parametrize("line", [b"{bad", b"[1]", b"3", b"[" * 100_000, b"9" * 10_000, b'{"a":1}{"b":2}'])
def test_a_bad_line_is_refused_by_its_number(line: bytes) -> None:
    with pytest.raises(InvalidInput, match="line 3"):
        parse_bytes(b'{"id":"a"}\n\n' + line, "a.jsonl")


def test_a_corpus_is_one_record_a_row() -> None:
    rows = [
        {"id": "a", "title": "A", "text": "x\r\ny", "year": 2020, "tags": ["p", "q"], "none": None, "deep": {"k": [1]}},
        {"id": "b", "text": "\ud800"},
    ]
    data = "\n".join(map(json.dumps, rows)).encode()
    expected = [
        Record("a", "A", "x\ny", {"year": 2020, "tags": ["p", "q"], "deep": '{"k": [1]}'}),
        Record("b", "", "\ufffd", {}),
    ]
    assert expand_jsonl(data, "c.jsonl") == expected
    assert expand_jsonl(gzip.compress(data), "c.jsonl.gz") == expected


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"id": "a", "text": "x"}\n{"id": 1, "text": "x"}', "line 2"),
        (b'{"id": "", "text": "x"}', "line 1"),
        (b'{"id": "a"}', "line 1"),
        (b'{"id": "a", "text": "x"}\n{"id": "a", "text": "y"}', "lines 1 and 2"),
        (b"\x1f\x8b broken", "gzip"),
        (gzip.compress(b'{"id": "a", "text": "x"}', mtime=0)[:-9], "middle"),
    ],
)
def test_a_row_that_is_no_record_is_refused_by_its_line(data: bytes, reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        expand_jsonl(data, "c.jsonl")


@pytest.mark.parametrize(
    ("file", "count"), [("2wiki-51/corpus.jsonl", 421), ("2wiki-corpus-6119/corpus.jsonl.gz", 6119)]
)
def test_the_shared_corpora_are_records(file: str, count: int) -> None:
    if not DATA.is_dir():
        pytest.skip(f"the shared data is not at {DATA}")
    records = expand_jsonl((DATA / file).read_bytes(), file)
    assert len(records) == count
    assert all(record.title and record.text for record in records)
