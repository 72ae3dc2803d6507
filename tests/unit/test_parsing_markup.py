"""Markdown and HTML."""

from __future__ import annotations

import time

import pytest

from knotwork.adapters.parsing.registry import parse_bytes
from knotwork.domain.model import Heading, ParsedText
from knotwork.errors import UnsupportedDocument


def markdown(source: str) -> ParsedText:
    return parse_bytes(source.encode(), "page.md")[0]


def html(source: str) -> ParsedText:
    return parse_bytes(source.encode(), "page.html")[0]


def test_markdown_keeps_words_and_drops_marks() -> None:
    parsed = markdown("# The *retry*\n\nSee [the guide](http://x.example) and `code`, **not**\n![a map](m.png).\n\nEnd")
    assert parsed.text == "The retry\n\nSee the guide and code, not\na map.\n\nEnd"
    assert parsed.headings == (Heading(0, 1, "The retry"),)


def test_markdown_lists_are_blocks_of_lines() -> None:
    assert markdown("- a\n- b\n  1. c\n  2. d\n\ntext").text == "- a\n- b\n  1. c\n  2. d\n\ntext"


def test_markdown_code_tables_and_quotes_stay_readable() -> None:
    parsed = markdown(
        "```py\nx = 1\n    y\n```\n\n| k | v |\n|---|---|\n| 1 | 2 |\n\n> said\n\n<div>html <b>too</b></div>\n"
    )
    assert parsed.text == "x = 1\n    y\n\nk | v\n1 | 2\n\nsaid\n\nhtml too"


def test_markdown_front_matter_gives_the_title_and_nothing_else() -> None:
    parsed = markdown('---\ntags: [x]\ntitle: "Budgets"\n---\n\nText')
    assert (parsed.title, parsed.text) == ("Budgets", "Text")
    assert markdown("---\nno end").text == "no end"


def test_markdown_nested_beyond_the_vendors_limit_is_kept_as_it_stands() -> None:
    assert "deep" in markdown(">" * 10_000 + "deep").text


def test_markdown_heading_offsets_point_at_their_lines() -> None:
    parsed = markdown("intro\n\n# A\n\nx\n\nB\n---\n\n### C ###\n")
    assert [(heading.level, heading.text) for heading in parsed.headings] == [(1, "A"), (2, "B"), (3, "C")]
    assert all(parsed.text.startswith(heading.text, heading.start) for heading in parsed.headings)


def test_html_gives_title_headings_paragraphs_lists_and_tables_in_order() -> None:
    parsed = html(
        "<html><head><title>T &amp; U</title><style>p{}</style></head><body><h1>One <i>two</i></h1>"
        "<p>Caf&eacute;<br>line<script>alert(1)</script></p><ul><li>a<li>b</ul>"
        "<table><tr><th>k<th>v<tr><td>1<td>2</table><pre>x\n  y</pre>tail<h2>Sub</h2>end<!-- no --></body></html>"
    )
    assert parsed.title == "T & U"
    assert parsed.text == "One two\n\nCafé\nline\n\n- a\n- b\n\nk | v\n1 | 2\n\nx\n  y\n\ntail\n\nSub\n\nend"
    assert [(heading.level, heading.text) for heading in parsed.headings] == [(1, "One two"), (2, "Sub")]


def test_html_in_a_declared_encoding_is_read_in_it() -> None:
    page = '<meta charset="windows-1251"><p>Москва</p>'.encode("cp1251")
    assert parse_bytes(page, "a.html")[0].text == "Москва"


@pytest.mark.parametrize("decoy", ["", "<!--</div>-->", "<textarea></div></textarea>", '<a title="</div>"></a>'])
def test_html_nested_100_000_deep_is_refused_at_once(decoy: str) -> None:
    started = time.process_time()
    with pytest.raises(UnsupportedDocument, match="deeper"):
        html(f"<div>{decoy}" * 100_000)
    assert time.process_time() - started < 5


def test_html_nested_4_000_deep_is_read() -> None:
    assert html("<div>" * 4_000 + "deep").text == "deep"


def test_html_with_100_000_open_paragraphs_and_items_is_read() -> None:
    assert html("<p>x<li>y" * 20_000).text.count("x") == 20_000
