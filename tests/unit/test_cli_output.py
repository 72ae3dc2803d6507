"""What a document says must not steer the terminal that shows it."""

from __future__ import annotations

import json

import pytest

from knotwork.cli.output import Output, in_line, json_text, printable

STEERING = "\x1b\x07\x7f\u009b\u202e\u2066\u200f\u061c\u2028\u2029"


def test_characters_that_steer_are_replaced() -> None:
    assert printable(f"a{STEERING}b") == f"a{'�' * len(STEERING)}b"
    assert printable("é 漢 😀 a\u200db\n") == "é 漢 😀 a\u200db\n"  # joiners are part of words and emoji


def test_an_id_stays_on_one_line() -> None:
    assert in_line("a\nready: http://evil\tb") == "a ready: http://evil b"


def test_json_holds_no_character_that_steers_and_says_the_same() -> None:
    value = {STEERING: [f"é 漢{STEERING}"]}
    text = json_text(value)
    assert not set(STEERING) & set(text)
    assert "é 漢" in text
    assert json.loads(text) == value


def test_rows_and_facts_of_ids_with_newlines_are_one_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    output = Output(as_json=False)
    output.table(["id"], [["a\nb"]])
    output.facts({"id": "c\nd"})
    assert capsys.readouterr().out == "a b\nid  c d\n"
