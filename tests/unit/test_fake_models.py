"""The fakes' own promises, which other tests lean on; the port's are in tests/contract."""

from __future__ import annotations

import asyncio

import pytest

from knotwork.adapters.memory.models import EMPTY_EXTRACTION, HashEmbedder, ReplayExtractor
from knotwork.domain.model import ChunkId, Usage
from knotwork.errors import ModelFailed, ModelRefused
from knotwork.ports.models import ExtractionInput


def chunk(text: str) -> ExtractionInput:
    return ExtractionInput(ChunkId("c"), text)


async def test_the_embedder_counts_calls_and_texts() -> None:
    embedder = HashEmbedder(8)
    await embedder.embed(["a", "b"])
    await embedder.embed(["c"], purpose="query")
    assert (embedder.calls, embedder.texts) == (2, 3)


async def test_the_order_of_words_does_not_change_a_vector() -> None:
    embedder = HashEmbedder(8)
    one, two = (await embedder.embed(["red green blue red", "Blue, red red GREEN"])).vectors
    assert one == two


async def test_versions_and_dimensions_are_different_models() -> None:
    assert len({HashEmbedder(8).id, HashEmbedder(9).id, HashEmbedder(8, version=2).id}) == 3
    (one,) = (await HashEmbedder(8).embed(["a"])).vectors
    (two,) = (await HashEmbedder(8, version=2).embed(["a"])).vectors
    assert one != two


async def test_the_extractor_replays_by_text_and_answers_empty_otherwise() -> None:
    extractor = ReplayExtractor({"known": ["any", "shape"]}, usage=Usage(3, 4))
    assert (await extractor.extract(chunk("known"))).raw == ["any", "shape"]
    other = await extractor.extract(chunk("other"))
    assert (other.raw, other.usage) == (EMPTY_EXTRACTION, Usage(3, 4))
    assert (extractor.calls, [seen.text for seen in extractor.seen]) == (2, ["known", "other"])


async def test_a_fault_strikes_at_its_text_until_it_is_mended() -> None:
    extractor, embedder = ReplayExtractor(), HashEmbedder(8)
    extractor.faults.fail("bad")
    embedder.faults.fail("bad", ModelRefused("told to refuse"))
    with pytest.raises(ModelFailed):
        await extractor.extract(chunk("bad"))
    with pytest.raises(ModelRefused):
        await embedder.embed(["good", "bad"])
    await extractor.extract(chunk("good"))
    del extractor.faults.failing["bad"]
    await extractor.extract(chunk("bad"))


async def test_a_text_can_hang() -> None:
    extractor = ReplayExtractor()
    extractor.faults.hanging.add("slow")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await extractor.extract(chunk("slow"))
