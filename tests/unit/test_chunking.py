"""Chunks: covered, bounded, exact, deterministic, and stable under edits."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knotwork.adapters.models.tokenizer import PackagedTokenizer
from knotwork.domain.chunking import CHARS_PER_TOKEN, chunk_text
from knotwork.domain.model import Chunk, Heading, PageStart, ParsedText, SourceRef
from knotwork.errors import InvalidInput

SOURCE = SourceRef("document", "guide/retry.md")
WORDPIECE = PackagedTokenizer()
BOOKS = Path(__file__).parents[2].parent / "shared" / "data" / "books"


class Remembering:
    """The packaged tokenizer; a text is read once, for tests that cut nearly equal texts many times."""

    def __init__(self) -> None:
        self.offsets = cache(WORDPIECE.offsets)


class WordsAndSigns:
    """A measure for laws: a token a word or sign; cheap, and additive at white space."""

    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        return [found.span() for found in re.finditer(r"\w+|[^\w\s]", text)]


def chunks_of(parsed: ParsedText | str, *, max_tokens: int = 160, overlap_tokens: int = 24) -> list[Chunk]:
    text = ParsedText(parsed) if isinstance(parsed, str) else parsed
    return chunk_text(text, SOURCE, measure=WORDPIECE, max_tokens=max_tokens, overlap_tokens=overlap_tokens)


def with_headings(text: str) -> ParsedText:
    found = re.finditer(r"^(#+) .*$", text, re.MULTILINE)
    return ParsedText(text, headings=tuple(Heading(hit.start(), len(hit[1]), hit[0]) for hit in found))


BREAKS = ["\n", "\n\n", "\r\n", " ", ". ", "。", "# One\n\n", "## Two\n\n"]
WORDS = ["word", "漢字", "e\u0301", "a" * 150, "👨\u200d👩\u200d👧", "🇩🇪", "한", "क्ष"]
PIECES = st.sampled_from(BREAKS + WORDS)
TEXTS = st.one_of(st.lists(PIECES, max_size=120).map("".join), st.text(max_size=300))


@given(TEXTS, st.integers(16, 40), st.integers(0, 8))
def test_chunks_cover_the_text_within_bounds_in_order_with_exact_offsets(text: str, most: int, overlap: int) -> None:
    parsed = with_headings(text)
    measure = WordsAndSigns()
    chunks = chunk_text(parsed, SOURCE, measure=measure, max_tokens=most, overlap_tokens=overlap)
    covered: set[int] = set()
    for index, chunk in enumerate(chunks):
        assert chunk.index == index
        assert chunk.text == text[chunk.start : chunk.end]
        assert 0 < len(measure.offsets(chunk.text)) <= most or not re.search(r"\w", chunk.text)
        assert len(chunk.text) <= most * CHARS_PER_TOKEN
        covered.update(range(chunk.start, chunk.end))
    assert all(at in covered for at, char in enumerate(text) if not char.isspace())
    assert [chunk.end for chunk in chunks] == sorted({chunk.end for chunk in chunks})
    assert len({chunk.id for chunk in chunks}) == len(chunks)
    assert chunks == chunk_text(parsed, SOURCE, measure=measure, max_tokens=most, overlap_tokens=overlap)


@settings(max_examples=40)
@given(TEXTS)
def test_the_packaged_tokenizer_never_counts_more_tokens_than_allowed(text: str) -> None:
    for chunk in chunks_of(with_headings(text * 3), max_tokens=24, overlap_tokens=8):
        assert len(WORDPIECE.offsets(chunk.text)) <= 24


@given(TEXTS)
def test_an_overlap_repeats_the_end_of_the_chunk_before_and_no_more_than_asked(text: str) -> None:
    measure = WordsAndSigns()
    parsed = with_headings(text)
    chunks = chunk_text(parsed, SOURCE, measure=measure, max_tokens=20, overlap_tokens=8)
    for before, after in pairwise(chunks):
        if after.start < before.end:
            assert len(measure.offsets(text[after.start : before.end])) <= 8
            assert not any(after.start <= heading.start < before.end for heading in parsed.headings)


def test_a_whole_sentence_is_repeated() -> None:
    sentences = [f"Sentence number {number} speaks of rivers." for number in range(60)]
    chunks = chunks_of(" ".join(sentences), max_tokens=40, overlap_tokens=10)
    assert len(chunks) > 5
    for before, after in pairwise(chunks):
        assert after.text.startswith(before.text[before.text.rindex("Sentence") :])


def test_a_chunk_never_crosses_a_heading_and_a_heading_without_a_body_joins_the_next() -> None:
    text = "Before.\n\nGuide\n\nRetries\n\nA budget is kept.\n\nLimits\n\nNone are kept."
    headings = (Heading(9, 1, "Guide"), Heading(16, 2, "Retries"), Heading(44, 2, "Limits"))
    chunks = chunks_of(ParsedText(text, title="T", headings=headings))
    assert [(chunk.text, chunk.headings) for chunk in chunks] == [
        ("Before.", ()),
        ("Guide\n\nRetries\n\nA budget is kept.", ("Guide", "Retries")),
        ("Limits\n\nNone are kept.", ("Guide", "Limits")),
    ]
    assert {chunk.title for chunk in chunks} == {"T"}


def test_a_heading_stands_with_text_even_before_a_paragraph_that_fills_a_chunk() -> None:
    text = "A heading of a few words\n\n" + "river " * 39 + "end."
    first, *rest = chunks_of(ParsedText(text, headings=(Heading(0, 1, "A heading"),)), max_tokens=42, overlap_tokens=0)
    assert "river" in first.text
    assert rest


def test_the_page_of_a_chunk_is_that_of_its_first_character() -> None:
    text = "\n\n".join("word " * 100 + "end." for _ in range(3))
    starts = (0, len(text) // 3 + 1, 2 * len(text) // 3 + 1)
    parsed = ParsedText(text, pages=tuple(PageStart(start, page) for page, start in enumerate(starts, start=1)))
    for chunk in chunks_of(parsed):
        assert chunk.page == sum(start <= chunk.start for start in starts)


def test_equal_paragraphs_get_ordinals_and_different_ids() -> None:
    chunks = chunks_of("\n\n".join(["the same " * 60] * 4), overlap_tokens=0)
    assert len({chunk.text for chunk in chunks}) < len(chunks) == len({chunk.id for chunk in chunks})


@pytest.mark.parametrize("text", ["", " ", "\n\n \t\n"])
def test_nothing_to_read_gives_no_chunk(text: str) -> None:
    assert chunks_of(text) == []


@pytest.mark.parametrize(("most", "overlap"), [(15, 0), (160, 81), (160, -1)])
def test_bounds_that_cannot_be_kept_are_refused(most: int, overlap: int) -> None:
    with pytest.raises(InvalidInput):
        chunks_of("text", max_tokens=most, overlap_tokens=overlap)


@pytest.mark.parametrize("book", ["a_christmas_carol.txt", "operation_dulce.txt", "wizard_of_oz.txt"])
def test_a_paragraph_inserted_into_a_book_renames_three_chunks_and_their_overlap(book: str) -> None:
    if not BOOKS.is_dir():
        pytest.skip(f"the shared books are not at {BOOKS}")
    text = (BOOKS / book).read_text(encoding="utf-8")
    measure = Remembering()

    def ids(text: str) -> set[str]:
        chunks = chunk_text(ParsedText(text), SOURCE, measure=measure, max_tokens=160, overlap_tokens=24)
        return {chunk.id for chunk in chunks}

    before = ids(text)
    places = [gap.end() for gap in re.finditer(r"\n\n+", text)]
    for place in random.Random(7).sample(places, 20):
        edited = text[:place] + "A letter came that night. Nobody read it before the spring.\n\n" + text[place:]
        after = ids(edited)
        assert len(after - before) <= 4  # three, and the one whose overlap repeats their end
        assert len(before - after) <= 4


@pytest.mark.parametrize(
    "alphabet",
    ["".join(map(chr, range(0x4E00, 0x9FA5))), "abcdefghijklmnopqrstuvwxyz0123456789+/"],
    ids=["han", "code"],
)
def test_an_insertion_at_the_front_of_a_line_without_spaces_renames_its_first_chunks_only(alphabet: str) -> None:
    line = "".join(random.Random(5).choices(alphabet, k=20_000))
    before, after = chunks_of(line), chunks_of("inserted" + line)
    assert len(before) > 50
    assert len({chunk.id for chunk in after} - {chunk.id for chunk in before}) <= 4


@pytest.mark.parametrize("unit", ["a", "漢", "👨\u200d👩\u200d👧", "!", "🇩🇪"])
def test_a_long_line_of_one_sign_is_cut_into_bounded_chunks_between_graphemes(unit: str) -> None:
    text = unit * 5_000
    chunks = chunks_of(text)
    assert chunks[0].start == 0
    assert chunks[-1].end == len(text)
    for chunk in chunks:
        assert len(chunk.text) <= 160 * CHARS_PER_TOKEN
        assert len(WORDPIECE.offsets(chunk.text)) <= 160
        assert chunk.start % len(unit) == chunk.end % len(unit) == 0


def test_one_grapheme_larger_than_a_chunk_is_cut_nonetheless() -> None:
    text = "e" + "\u0301" * 5_000
    assert max(len(chunk.text) for chunk in chunks_of(text)) <= 160 * CHARS_PER_TOKEN


def test_a_lone_surrogate_is_measured_as_the_character_it_will_become() -> None:
    assert WORDPIECE.offsets("a \ud800 b") == WORDPIECE.offsets("a \ufffd b")
