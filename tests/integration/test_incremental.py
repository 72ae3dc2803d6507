"""An edit costs the chunks around it, in calls of models and in rows of Neo4j; no edit costs the run's own record."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import LiteralString, cast

import pytest

from knotwork.adapters.models.pooled_chunker import cut
from knotwork.adapters.neo4j.session import Row, Transaction
from knotwork.adapters.neo4j.statements import statement
from knotwork.domain.catalogue import IndexResult, StoredChunk
from knotwork.domain.inputs import PREVIEW_CHARS
from knotwork.domain.model import Chunk, ChunkId, ParsedText, SourceRef
from support.stack import SentenceExtractor, Stack, Stores, TextChunker, open_stack

pytestmark = pytest.mark.neo4j

BOOK = Path(__file__).resolve().parents[3] / "shared" / "data" / "books" / "operation_dulce.txt"
PLACES = 4
TOKENS, OVERLAP = 200, 24  # of a chunk, as the platform's settings have them
CHUNKS_AT_MOST = 3 + 1  # those around the edit, and the one that its overlap reaches
THOUSAND = 1000
POSITIONS = "write/put_chunks"
CHUNK_VALUES = 12  # set for each chunk of a source that changed, at most
EVIDENCE = {
    f"write/{name}"
    for name in (
        "put_mentions",
        "remove_mentions",
        "put_assertions",
        "remove_assertions",
        "lock_entities",  # which makes those that are new
        "delete_entities",
        "lock_facts",
        "delete_facts",
        "put_relationships",
        "detach_relationships",
    )
}
# What a run writes about itself: that it was accepted, with its text, how far it is, and that its text is done with.
# The hold is a lock, taken back with its transaction.
RECORD = {f"write/{name}" for name in ("accept_runs", "put_texts", "hold_sources", "record_runs", "drop_run_texts")}
MENTIONED = 4 + 4  # names and facts of a chunk of the long sources, at most
NEW = 1 + 2  # the name and the facts that their edit brings in
FILLER = "it has been so in every one of the houses that we keep, day and night."
PARAGRAPH = "Here Somebody put in paragraph {} that the Author had never written, nor thought of writing.\n\n"


@dataclass(slots=True)
class Written:
    """What statements did to Neo4j, by the statement's name; those that changed nothing are not in it."""

    times: Counter[str] = field(default_factory=Counter[str])  # run
    rows: Counter[str] = field(default_factory=Counter[str])  # nodes and relationships made or removed
    values: Counter[str] = field(default_factory=Counter[str])  # properties set


@contextmanager
def counted() -> Generator[Written]:
    """While open, notes what is written to Neo4j."""
    written = Written()

    async def rows(self: Transaction, name: str, **parameters: object) -> list[Row]:
        result = await self._tx.run(cast("LiteralString", statement(name)), parameters)
        keys = list(result.keys())
        found: list[Row] = [dict(zip(keys, record.values(), strict=True)) async for record in result]
        counters = (await result.consume()).counters
        if counters.contains_updates:
            written.times[name] += 1
            written.rows[name] += counters.nodes_created + counters.nodes_deleted
            written.rows[name] += counters.relationships_created + counters.relationships_deleted
            written.values[name] += counters.properties_set
        return found[0]["rows"] if keys == ["rows"] else found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Transaction, "rows", rows)
        yield written


class BookChunker(TextChunker):
    async def chunk(self, parsed: ParsedText, source: SourceRef) -> list[Chunk]:
        return cut(parsed, source, TOKENS, OVERLAP)


@pytest.fixture
async def stack(stores: Stores) -> AsyncGenerator[Stack]:
    async with open_stack(stores, SentenceExtractor()) as stack:
        stack.indexer._chunker = BookChunker()
        yield stack


@pytest.mark.skipif(not BOOK.exists(), reason=f"needs {BOOK.name} in ../shared/data/books")
async def test_a_paragraph_inserted_into_a_book_costs_the_chunks_around_it(stack: Stack) -> None:
    extractor = stack.extractors.extractor
    assert isinstance(extractor, SentenceExtractor)
    text = BOOK.read_text(encoding="utf-8")
    with counted() as whole:
        first = await stack.put("book", text)
    starts = [match.end() for match in re.finditer(r"\n\n+", text)]
    for number in range(PLACES):
        at = starts[len(starts) * number // PLACES] + number * len(PARAGRAPH.format(0))
        text = text[:at] + PARAGRAPH.format(number) + text[at:]
        calls = extractor.calls
        with counted() as counts:
            result = await stack.put("book", text)
        assert 1 <= result.written <= CHUNKS_AT_MOST, f"inserted at place {number}"
        assert extractor.calls - calls == result.written
        # The chunks around the place, and what they name, in a book of as many chunks as it has.
        assert counts.rows.total() <= whole.rows.total() * 2 * CHUNKS_AT_MOST // first.written + 20
        values = counts.values.total() - counts.values[POSITIONS]
        assert values <= whole.values.total() * 2 * CHUNKS_AT_MOST // first.written + 100
        assert counts.times[POSITIONS] == 1


def letters(number: int) -> str:
    """The number in letters, so that it is one word; from -8,788 to 8,787."""
    return "".join(chr(ord("a") + (number + 26**3 // 2) // place % 26) for place in (676, 26, 1))


def paragraph(number: int) -> str:
    """One chunk of CHUNK_TOKENS: it names the hub, and two of its own."""
    name = letters(number)
    return f"Hub sends Left{name}. Hub sends Right{name}. {FILLER}"


@dataclass(frozen=True, slots=True)
class Edit:
    """What one paragraph more in the middle of a source cost, and what the same source put again."""

    result: IndexResult
    removed: int
    calls: int
    embedded: int
    written: Written
    again: IndexResult
    again_calls: tuple[int, int]
    again_written: Written


async def edited(stores: Stores, size: int) -> Edit:
    """Index a source of so many chunks, edit the one in its middle so that what follows moves, and put it again."""
    async with open_stack(stores, SentenceExtractor()) as stack:
        extractor, embedder = stack.extractors.extractor, stack.embedder
        assert isinstance(extractor, SentenceExtractor)
        paragraphs = [paragraph(number) for number in range(-(size // 2), size - size // 2)]
        assert (await stack.put("long", "\n\n".join(paragraphs))).written == size
        before = await chunks(stack, "long")
        paragraphs[size // 2] = f"Hub sends Newcomer. Hub drops Newcomer. {paragraphs[size // 2]}"
        text = "\n\n".join(paragraphs)
        calls, embedded = extractor.calls, embedder.texts
        with counted() as written:
            result = await stack.put("long", text)
        calls, embedded = extractor.calls - calls, embedder.texts - embedded
        after = await chunks(stack, "long")
        assert len(after.keys() - before.keys()) == result.written
        assert [chunk.preview for chunk in after.values()] == [
            text[chunk.start : chunk.end][:PREVIEW_CHARS] for chunk in after.values()
        ]
        at = extractor.calls, embedder.texts
        with counted() as again_written:
            again = await stack.put("long", text)
        again_calls = extractor.calls - at[0], embedder.texts - at[1]
        removed = len(before.keys() - after.keys())
        return Edit(result, removed, calls, embedded, written, again, again_calls, again_written)


async def chunks(stack: Stack, id_: str) -> dict[ChunkId, StoredChunk]:
    ref = SourceRef("document", id_)
    return {chunk.id: chunk for chunk in (await stack.catalogue.states(stack.tenant, [ref]))[ref].chunks}


async def test_an_edit_costs_what_it_touches_in_a_source_of_a_thousand_chunks_as_in_one_of_a_hundred(
    stores: Stores,
) -> None:
    small, large = await edited(stores, 100), await edited(stores, THOUSAND)
    for edit in (small, large):
        assert 1 <= edit.result.written <= 3
        assert edit.removed <= 3
        assert edit.calls == edit.result.written
        assert edit.embedded == edit.result.written + NEW
        evidence = sum(edit.written.rows[name] for name in EVIDENCE)
        assert evidence <= MENTIONED * (edit.result.written + edit.removed) + 2 * NEW
    # The hub has ten times as many mentions, and the source ten times as many chunks that move.
    assert large.written.times == small.written.times
    assert large.written.rows == small.written.rows
    values, less = large.written.values, small.written.values
    assert {name for name in values if values[name] != less[name]} == {POSITIONS}
    assert large.written.times[POSITIONS] == 1
    assert values[POSITIONS] <= CHUNK_VALUES * (THOUSAND + large.result.written)
    for edit in (small, large):
        assert (edit.again.written, edit.again_calls) == (0, (0, 0))
        assert set(edit.again_written.times) == RECORD
