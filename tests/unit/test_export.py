"""The lines of an export, their difference in words, and the forms that other tools read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork.domain.catalogue import Evidence, ExtractionState, TenantSettings
from knotwork.domain.cypher_script import cypher_script, literal
from knotwork.domain.export import (
    Record,
    Settings,
    StateHash,
    chunk_of,
    chunk_record,
    entity_record,
    from_line,
    header_record,
    place,
    relationship_record,
    settings_of,
    source_of,
    source_record,
    stored_chunk,
    to_line,
)
from knotwork.domain.export_diff import diff_exports
from knotwork.domain.export_reading import extent
from knotwork.domain.graphml import graphml
from knotwork.domain.ids import chunk_id, content_hash
from knotwork.domain.inputs import text_hash
from knotwork.domain.merge import merge_contributions
from knotwork.domain.model import Chunk, Heading, ParsedText, Source, SourceRef
from knotwork.domain.sanitise import sanitise_extraction
from knotwork.errors import ExportDamaged

SETTINGS = Settings("chunker/1", TenantSettings())
TEXT = st.text(st.characters(codec="utf-8"), max_size=30)
TEXTS = st.dictionaries(TEXT.filter(bool), TEXT, max_size=4)


def export_of(texts: dict[str, str], *, settings: Settings = SETTINGS, reader: str = "*") -> list[bytes]:
    """An export of documents of one chunk each, in which `A verb B` is a relationship."""
    records: list[Record] = [header_record(settings)]
    parts = [source_records(id_, text, reader) for id_, text in sorted(texts.items())]
    records += [record for part in parts for record in part]
    evidence = [evidence_of(id_, text).contribution for id_, text in texts.items()]
    merged = merge_contributions(evidence)
    records += [entity_record(entity) for entity in merged.entities]
    records += [relationship_record(relationship) for relationship in merged.relationships]
    state = StateHash()
    return [*(state.add(to_line(record)) for record in records), to_line(state.end_record())]


def source_records(id_: str, text: str, reader: str) -> Sequence[Record]:
    parsed = ParsedText(text, f"Title of {id_}", (Heading(0, 1, "Top"),))
    source = Source(SourceRef("document", id_), parsed.title, text_hash(parsed), (reader,), {"year": 2020})
    return [source_record(source, parsed), chunk_record(stored_chunk(chunk_in(id_, text), ""), evidence_of(id_, text))]


def chunk_in(id_: str, text: str) -> Chunk:
    ref = SourceRef("document", id_)
    return Chunk(chunk_id(ref, text, 0), ref, 0, text, 0, len(text), content_hash(text), f"Title of {id_}", ("Top",))


def evidence_of(id_: str, text: str) -> Evidence:
    words = text.split()
    raw: dict[str, Any] = {"entities": [{"name": word, "description": f"said {word}"} for word in words]}
    if len(words) == 3:
        raw["relationships"] = [{"from": words[0], "type": words[1], "to": words[2]}]
    chunk = chunk_in(id_, text)
    return Evidence(chunk.id, f"key of {text}", ExtractionState.DONE, sanitise_extraction(chunk.id, raw))


@given(TEXTS)
def test_lines_are_canonical_and_in_the_order_of_their_places(texts: dict[str, str]) -> None:
    lines = export_of(texts)
    records = [from_line(line) for line in lines]
    assert [to_line(record) for record in records] == lines
    assert all(line.count(b"\n") == 1 for line in lines)
    places = [place(record) for record in records]
    assert places == sorted(set(places))


@given(TEXT.filter(bool), TEXT)
def test_a_source_and_its_chunk_are_read_back_as_they_were(id_: str, text: str) -> None:
    source_line, chunk_line = (to_line(record) for record in source_records(id_, text, "group:sre"))
    source, parsed = source_of(from_line(source_line))
    assert to_line(source_record(source, parsed)) == source_line
    chunk, evidence = chunk_of(from_line(chunk_line), parsed)
    assert (chunk, evidence) == (chunk_in(id_, text), evidence_of(id_, text))


def test_settings_are_read_back_from_the_header() -> None:
    settings = Settings("chunker/2", TenantSettings(graph=False, extraction_model="big"))
    assert settings_of(from_line(to_line(header_record(settings)))) == settings


def test_another_version_is_refused_and_named() -> None:
    with pytest.raises(ExportDamaged, match="version 9"):
        settings_of({**header_record(SETTINGS), "version": 9})


@pytest.mark.parametrize("line", [b"", b"{}", b"[]", b"null", b"\xff", b'{"kind":"other"}', b'{"kind":[]}', b"text"])
def test_what_is_no_line_is_refused(line: bytes) -> None:
    with pytest.raises(ExportDamaged):
        from_line(line)


def test_a_source_whose_text_was_changed_is_refused() -> None:
    record = source_records("a", "Ada knows Bob", "*")[0]
    with pytest.raises(ExportDamaged, match="document:a"):
        source_of({**record, "text": "Ada knows Eve"})


@given(TEXTS)
def test_equal_states_do_not_differ(texts: dict[str, str]) -> None:
    assert list(diff_exports(export_of(texts), export_of(texts))) == []


def test_a_difference_is_told_in_words() -> None:
    before = export_of({"a": "Ada knows Bob", "b": "Ada knows Bob", "c": "Eve"})
    after = export_of({"a": "Ada knows Bob", "b": "Ada likes Bob", "d": "Eve"})
    assert list(diff_exports(before, after)) == [
        "source document:b: text changed, 1 chunks removed, 1 chunks added",
        "source document:c: removed, with 1 chunks",
        "source document:d: added, with 1 chunks",
        "entity concept:knows: mentions 2 → 1",
        "entity concept:likes: added, mentions 1",
        "relationship concept:ada|knows|concept:bob: weight 2 → 1",
        "relationship concept:ada|likes|concept:bob: added, weight 1",
    ]


def test_a_difference_names_changed_readers_and_settings() -> None:
    other = replace(SETTINGS, chunker="chunker/2")
    told = list(diff_exports(export_of({"a": "Ada"}), export_of({"a": "Ada"}, settings=other, reader="group:sre")))
    assert told == ["setting chunker: chunker/1 → chunker/2", "source document:a: readers changed"]


def test_lines_out_of_order_have_no_difference() -> None:
    lines = export_of({"a": "Ada", "b": "Bob"})
    with pytest.raises(ExportDamaged, match="order"):
        list(diff_exports(lines, [lines[0], *reversed(lines[1:-1]), lines[-1]]))


VECTOR_LINES = [
    to_line({"kind": "header", "format": "knotwork-vectors", "version": 1, "embedder": "e", "dimension": 1}),
    to_line({"kind": "entity", "id": "concept:ada", "key": None, "vector": "AACAPw=="}),
]


def test_a_file_is_measured_where_its_export_ends_and_its_vectors_begin() -> None:
    lines = export_of({"a": "Ada", "b": "Bob"})
    found = extent(lines)
    assert (found.export_bytes, found.vector_bytes, found.sources) == (len(b"".join(lines)), 0, 2)
    assert found.sha256 == from_line(lines[-1])["sha256"]
    assert extent([*lines, *VECTOR_LINES]).vector_bytes == len(b"".join(VECTOR_LINES))


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ([], "cut off"),
        (export_of({"a": "Ada"})[:-1], "cut off"),
        (export_of({"a": "Ada"})[1:], "no header"),
        ([line.replace(b"Ada", b"Eva") for line in export_of({"a": "Ada"})], "do not match their hash"),
        ([*export_of({"a": "Ada"}), *export_of({"a": "Ada"})], "no file of vectors"),
        ([*export_of({"a": "Ada"}), VECTOR_LINES[0], VECTOR_LINES[1][:-9]], "no line of an export"),
        ([*export_of({"a": "Ada"}), *VECTOR_LINES, VECTOR_LINES[1]], "not in order"),
        ([*export_of({"a": "Ada"}), b"\n"], "no line of an export"),
    ],
    ids=["nothing", "cut", "headless", "edited", "twice", "cut vectors", "vectors twice", "blank line"],
)
def test_a_file_that_was_cut_or_edited_is_refused_before_anything_is_stored(lines: list[bytes], told: str) -> None:
    with pytest.raises(ExportDamaged, match=told):
        extent(lines)
    if lines:
        with pytest.raises(ExportDamaged):
            list(diff_exports(export_of({"a": "Ada"}), lines))


@pytest.mark.parametrize(
    "record",
    [
        {"kind": "source"},
        {"kind": "source", "type": 1, "id": "a"},
        {"kind": "source", "type": "document", "id": "a", "title": "", "text": 7, "headings": [], "pages": []},
        {"kind": "source", "type": "document", "id": "a", "title": "", "text": "", "headings": [[1]], "pages": []},
        {"kind": "chunk", "id": "no chunk"},
        {"kind": "chunk", "id": ["a"]},
        {"kind": "entity", "id": None},
        {"kind": "header", "format": "knotwork-export", "version": 1, "settings": {"tenant": {"unknown": 1}}},
    ],
)
def test_a_line_whose_fields_are_not_what_they_should_be_is_damage_and_no_crash(record: Record) -> None:
    read = {"source": source_of, "header": settings_of}.get(record["kind"], place)
    with pytest.raises(ExportDamaged):
        read(record)


def test_a_chunk_that_is_not_the_text_of_its_id_is_refused() -> None:
    chunk = chunk_record(stored_chunk(chunk_in("a", "Ada"), ""), None)
    with pytest.raises(ExportDamaged, match="not the text"):
        chunk_of(chunk, ParsedText("Eva", ""))


@given(TEXTS)
def test_graphml_is_well_formed_and_every_edge_has_both_ends(texts: dict[str, str]) -> None:
    root = ET.fromstring("".join(graphml(export_of(texts))))
    space = "{http://graphml.graphdrawing.org/xmlns}"
    nodes = {node.get("id") for node in root.iter(f"{space}node")}
    edges = list(root.iter(f"{space}edge"))
    assert {end for edge in edges for end in (edge.get("source"), edge.get("target"))} <= nodes
    chunks = sum(str(node).startswith("chunk ") for node in nodes)
    assert chunks == len(texts)
    declared = {key.get("id") for key in root.iter(f"{space}key")}
    assert {data.get("key") for data in root.iter(f"{space}data")} <= declared


def test_graphml_keeps_the_text_of_names_to_the_letter() -> None:
    raw = 'a<b> & "c"\td'
    root = ET.fromstring("".join(graphml(export_of({raw: "Ada"}))))
    ids = [node.get("id") for node in root.iter("{http://graphml.graphdrawing.org/xmlns}node")]
    assert f"source document:{raw}" in ids


def read_literal(text: str) -> str:
    """What Cypher makes of a concatenation of string literals; \\u is read first, as it does."""
    assert not re.search(r"\\u", text)
    parts = re.findall(r"'((?:[^'\\]|\\.)*)'", text, re.DOTALL)
    assert " + ".join(f"'{part}'" for part in parts) == text
    unescape = {"n": "\n", "r": "\r", "t": "\t"}
    return re.sub(r"\\(.)", lambda match: unescape.get(match[1], match[1]), "".join(parts), flags=re.DOTALL)


@given(st.text(st.sampled_from("'\\u0041\n\r\t\"`;{}$/*é😀"), max_size=20) | TEXT)
def test_any_text_is_one_cypher_literal(text: str) -> None:
    assert read_literal(literal(text)) == text.replace("\0", "")


@given(TEXTS)
def test_a_script_is_one_statement_a_line_whatever_the_names_hold(texts: dict[str, str]) -> None:
    script = list(cypher_script(export_of(texts)))
    assert all(re.fullmatch(r"(MERGE|CREATE) [^\n\r]*;\n", statement) for statement in script)
    assert count_of(script, "MERGE (n:Chunk") == len(texts)


def count_of(script: Iterable[str], start: str) -> int:
    return sum(statement.startswith(start) for statement in script)
