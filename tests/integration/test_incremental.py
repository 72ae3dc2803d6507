"""A paragraph more in a real book costs the chunks around it: in calls of models, and in rows written to Neo4j."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import LiteralString, cast

import pytest

from knotwork.adapters.models.pooled_chunker import cut
from knotwork.adapters.neo4j.session import Row, Transaction
from knotwork.adapters.neo4j.statements import statement
from knotwork.domain.model import Chunk, ParsedText, SourceRef
from support.stack import SentenceExtractor, Stack, Stores, TextChunker, open_stack

pytestmark = pytest.mark.neo4j

BOOK = Path(__file__).resolve().parents[3] / "shared" / "data" / "books" / "operation_dulce.txt"
PLACES = 4
TOKENS, OVERLAP = 200, 24  # of a chunk, as the platform's settings have them
CHUNKS_AT_MOST = 3 + 1  # those around the edit, and the one that its overlap reaches
PARAGRAPH = "Here Somebody put in paragraph {} that the Author had never written, nor thought of writing.\n\n"


@contextmanager
def counted_rows() -> Generator[Counter[str]]:
    """While open, adds up the nodes and relationships that Neo4j makes and removes, and how many values it sets."""
    counts: Counter[str] = Counter()

    async def rows(self: Transaction, name: str, **parameters: object) -> list[Row]:
        result = await self._tx.run(cast("LiteralString", statement(name)), parameters)
        keys = list(result.keys())
        found: list[Row] = [dict(zip(keys, record.values(), strict=True)) async for record in result]
        counters = (await result.consume()).counters
        counts["rows"] += counters.nodes_created + counters.nodes_deleted
        counts["rows"] += counters.relationships_created + counters.relationships_deleted
        counts["values"] += counters.properties_set
        return found[0]["rows"] if keys == ["rows"] else found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Transaction, "rows", rows)
        yield counts


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
    with counted_rows() as whole:
        first = await stack.put("book", text)
    starts = [match.end() for match in re.finditer(r"\n\n+", text)]
    for number in range(PLACES):
        at = starts[len(starts) * number // PLACES] + number * len(PARAGRAPH.format(0))
        text = text[:at] + PARAGRAPH.format(number) + text[at:]
        calls = extractor.calls
        with counted_rows() as counts:
            result = await stack.put("book", text)
        assert 1 <= result.written <= CHUNKS_AT_MOST, f"inserted at place {number}"
        assert extractor.calls - calls == result.written
        # The chunks around the place, and what they name, in a book of as many chunks as it has.
        assert counts["rows"] <= whole["rows"] * 2 * CHUNKS_AT_MOST // first.written + 20
