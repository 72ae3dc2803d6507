"""Sources that the present configuration would make otherwise: named with the reason, and indexed again."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace

import pytest

from knotwork.adapters.memory.models import HashEmbedder
from knotwork.domain.catalogue import TenantSettings
from knotwork.domain.model import Chunk, ParsedText, SourceRef
from knotwork.domain.retrieval import Reader
from knotwork.ports.vector_store import Collection
from knotwork.services.upkeep import Staleness, Upkeep
from support.stack import SentenceExtractor, Stack, Stores, TextChunker, open_stack

pytestmark = pytest.mark.neo4j

TEXT = "Checkout calls Ledger. It does so many times a day, as every order of the shop needs it, day and night."
MORE = "Wallet calls Vault. It does so for refunds only, which are few and far between in most of the weeks."
BAD = "Poison stops Everything."


def text_of(id_: str) -> str:
    """A text of several chunks, of which others have some."""
    return f"{TEXT}\n\n{MORE}\n\n{id_}"


class ShiftedChunker(TextChunker):
    """Another chunker: everything is one chunk."""

    async def chunk(self, parsed: ParsedText, source: SourceRef) -> list[Chunk]:
        (first, *_) = await super().chunk(parsed, source)
        return [replace(first, text=parsed.text, start=0, end=len(parsed.text))]


@pytest.fixture
async def stack(stores: Stores) -> AsyncGenerator[Stack]:
    async with open_stack(stores, SentenceExtractor()) as stack:
        for id_ in ("a.md", "b.md", "c.md"):
            await stack.put(id_, text_of(id_), subjects=["group:sre"] if id_ == "c.md" else ["*"])
        yield stack


def upkeep_with(stack: Stack, chunker: TextChunker | None = None, embedder: HashEmbedder | None = None) -> Upkeep:
    """The same upkeep under another configuration."""
    return Upkeep(
        catalogue=stack.catalogue,
        intake=stack.intake,
        chunker=chunker or TextChunker(),
        embedder=embedder or stack.embedder,
        graph_builder=stack.graph_builder,
    )


async def stale(stack: Stack, upkeep: Upkeep | None = None, *subjects: str) -> dict[str, tuple[Staleness, ...]]:
    found = await (upkeep or stack.upkeep).stale(Reader(stack.tenant, subjects or None))
    assert found.next is None
    return {one.source.ref.id: one.reasons for one in found.sources}


def extractor_of(stack: Stack) -> SentenceExtractor:
    assert isinstance(stack.extractors.extractor, SentenceExtractor)
    return stack.extractors.extractor


async def test_nothing_is_stale_that_was_indexed_under_the_present_configuration(stack: Stack) -> None:
    extractor_of(stack).faults.fail(BAD)
    await stack.put("failed.md", BAD)  # a failure is listed elsewhere
    await stack.put("off.md", MORE, graph=False)
    await stack.put("empty.md", "")
    calls = stack.embedder.calls, extractor_of(stack).calls
    assert await stale(stack) == {}
    page = await stack.upkeep.reindex(Reader(stack.tenant))
    assert (list(page.runs), page.next) == ([], None)
    assert (stack.embedder.calls, extractor_of(stack).calls) == calls


async def test_each_reason_is_named_without_a_model_call(stack: Stack) -> None:
    calls = stack.embedder.calls, extractor_of(stack).calls
    names = ("a.md", "b.md", "c.md")
    assert await stale(stack, upkeep_with(stack, embedder=HashEmbedder(version=2))) == dict.fromkeys(
        names, (Staleness.EMBEDDING,)
    )
    assert await stale(stack, upkeep_with(stack, chunker=ShiftedChunker())) == dict.fromkeys(names, (Staleness.CHUNKS,))
    await stack.catalogue.put_tenant(stack.tenant, TenantSettings(graph=False))
    assert await stale(stack) == dict.fromkeys(names, (Staleness.EXTRACTION,))
    await stack.catalogue.put_tenant(stack.tenant, TenantSettings())
    assert (stack.embedder.calls, extractor_of(stack).calls) == calls


async def test_stale_sources_are_indexed_again_page_by_page_and_no_other(stack: Stack) -> None:
    stack.extractors.extractor = SentenceExtractor(version=2)
    await stack.put("b.md", text_of("b.md"))
    assert await stale(stack) == dict.fromkeys(("a.md", "c.md"), (Staleness.EXTRACTION,))
    assert set(await stale(stack, None, "*")) == {"a.md"}
    reader = Reader(stack.tenant)
    after, queued = None, []
    for _ in range(4):
        page = await stack.upkeep.reindex(reader, after=after, limit=1)
        queued.append([run.ref.id for run in page.runs])
        after = page.next
    assert (queued, after) == ([["a.md"], [], ["c.md"], []], None)
    await stack.intake.settle(stack.tenant)
    assert await stale(stack) == {}
    texts = {payload["text"] for payload in (await stack.points(Collection.CHUNKS)).values()}
    assert extractor_of(stack).calls == len(texts) > 1  # each text once


async def test_everything_can_be_looked_at_again_at_no_cost_where_it_is_up_to_date(stack: Stack) -> None:
    calls, before = (stack.embedder.calls, extractor_of(stack).calls), await stack.exported()
    page = await stack.upkeep.reindex(Reader(stack.tenant), stale_only=False)
    assert [run.ref.id for run in page.runs] == ["a.md", "b.md", "c.md"]
    await stack.intake.settle(stack.tenant)
    assert (stack.embedder.calls, extractor_of(stack).calls) == calls
    assert await stack.exported() == before
