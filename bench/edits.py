"""What one paragraph costs that is inserted into a book: model calls, rows written to Neo4j, and seconds.

    python -m bench.edits [--book wizard_of_oz] [--places 20]

The book is a source of the whole platform in a new home. A paragraph is inserted at evenly spaced places, one after the
other, so that the book grows; each edit is put as a client would. Models are counted, not run: an embedder of hashed
words, and an extractor that takes capitalised words for entities. Rows are what Neo4j itself reports.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import tempfile
import time
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, LiteralString, cast

from bench.support import DATA, machine, table

from knotwork.adapters.memory.models import HashEmbedder, ReplayExtractor
from knotwork.adapters.neo4j.session import Row, Transaction
from knotwork.adapters.neo4j.statements import statement
from knotwork.bootstrap import DEFAULT_TENANT, Models, Platform, open_platform
from knotwork.config import Settings
from knotwork.domain.model import ParsedText, Source, SourceRef
from knotwork.ports.models import Embeddings, Extraction, ExtractionInput
from knotwork.ports.vector_store import Collection, View

PARAGRAPH = (
    "At place {number} of the book the Bookbinder put in a paragraph that the Author had never written. It spoke of "
    "Paragraph {number}, of the Bookbinder himself, and of nothing that had happened before or would happen after it."
)
NAME = re.compile(r"\b[A-Z][a-z]{2,}\b")


class CapitalWords(ReplayExtractor):
    """Takes capitalised words for entities, and each two that follow one another for related."""

    async def extract(self, chunk: ExtractionInput) -> Extraction:
        names = list(dict.fromkeys(NAME.findall(chunk.text)))
        self.answers[chunk.text] = {
            "entities": [{"name": name, "type": "thing", "description": ""} for name in names],
            "relationships": [{"from": one, "to": other, "type": "precedes"} for one, other in pairwise(names)],
        }
        return await super().extract(chunk)


class CountingEmbedder(HashEmbedder):
    """Remembers what it embedded."""

    def __init__(self) -> None:
        super().__init__()
        self.embedded: list[str] = []

    async def embed(self, texts: Sequence[str], *, purpose: Literal["passage", "query"] = "passage") -> Embeddings:
        self.embedded += texts
        return await super().embed(texts, purpose=purpose)


@contextmanager
def counted_writes() -> Generator[Counter[str]]:
    """While open, adds up what Neo4j says of each statement: nodes and relationships made and removed, values set."""
    counts: Counter[str] = Counter()
    before = Transaction.rows

    async def rows(self: Transaction, name: str, **parameters: object) -> list[Row]:
        result = await self._tx.run(cast("LiteralString", statement(name)), parameters)
        keys = list(result.keys())
        found: list[Row] = [dict(zip(keys, record.values(), strict=True)) async for record in result]
        counters = (await result.consume()).counters
        counts["rows"] += counters.nodes_created + counters.nodes_deleted
        counts["rows"] += counters.relationships_created + counters.relationships_deleted
        counts["values"] += counters.properties_set
        return found[0]["rows"] if keys == ["rows"] else found

    Transaction.rows = rows
    try:
        yield counts
    finally:
        Transaction.rows = before


async def put(platform: Platform, parsed: ParsedText) -> Any:
    source = Source(SourceRef("document", "book"), parsed.title, "")
    run = await platform.intake.put(DEFAULT_TENANT, source, parsed)
    over = await platform.intake.wait(DEFAULT_TENANT, run.id)
    if over.result is None:
        raise SystemExit(f"the book was not indexed: {over.error}")
    return over.result


async def chunk_texts(platform: Platform) -> set[str]:
    """What the embedder sees of each chunk that is stored; the book has neither title nor headings."""
    texts, after = set[str](), None
    while True:
        page, after = await platform.vectors.scroll(
            DEFAULT_TENANT, Collection.CHUNKS, view=View(), after=after, limit=1000
        )
        texts |= {str(point.payload["text"]) for point in page}
        if after is None:
            return texts


def places(text: str, count: int) -> list[int]:
    """`count` starts of paragraphs, evenly spaced over the text."""
    starts = [match.end() for match in re.finditer(r"\n\n+", text)]
    return [starts[len(starts) * number // (count + 1)] for number in range(1, count + 1)]


async def measure(name: str, text: str, count: int, home: Path) -> None:
    embedder, extractor = CountingEmbedder(), CapitalWords()
    settings = Settings(home=home)
    rows: list[list[object]] = []
    async with open_platform(settings, models=Models(embedder, extractor)) as platform:
        with counted_writes() as counts:
            await put(platform, ParsedText(text))
            rows.append(["whole book", extractor.calls, embedder.texts, counts["rows"], counts["values"], 0.0])
            inserted = 0
            for number, place in enumerate(places(text, count), start=1):
                paragraph = PARAGRAPH.format(number=number) + "\n\n"
                at = place + inserted
                text = text[:at] + paragraph + text[at:]
                inserted += len(paragraph)
                counts.clear()
                embedder.embedded.clear()
                calls, started = extractor.calls, time.perf_counter()
                await put(platform, ParsedText(text))
                seconds = time.perf_counter() - started
                chunks = len(await chunk_texts(platform) & set(embedder.embedded))
                rows.append(
                    [
                        f"{100 * at // len(text)} %",
                        extractor.calls - calls,
                        chunks,
                        counts["rows"],
                        counts["values"],
                        round(seconds, 2),
                    ]
                )
        stored = await platform.catalogue.counts(DEFAULT_TENANT)
    table(
        f"{name}: {stored['chunks']} chunks, {stored['entities']} entities; one paragraph at each of {count} places",
        ["place", "chunks extracted", "chunks embedded", "nodes and edges", "values set", "s"],
        rows,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--book", default="wizard_of_oz")
    parser.add_argument("--places", type=int, default=20)
    parser.add_argument("--data", type=Path, default=DATA)
    arguments = parser.parse_args()
    text = (arguments.data / "books" / f"{arguments.book}.txt").read_text(encoding="utf-8").replace("\r\n", "\n")
    print(machine())
    with tempfile.TemporaryDirectory(prefix="knotwork-bench-") as home:
        asyncio.run(measure(arguments.book, text, arguments.places, Path(home)))


if __name__ == "__main__":
    main()
