"""Chunks that could not be read: listed with the reason, and tried again alone."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from knotwork.domain.catalogue import FailedChunk
from knotwork.domain.model import SourceRef
from knotwork.domain.retrieval import Reader
from knotwork.errors import ModelRefused
from support.stack import SentenceExtractor, Stack, Stores, open_stack

pytestmark = pytest.mark.neo4j

GOOD = "Checkout calls Ledger. It does so many times a day, as every order of the shop needs it, day and night."
BAD = "Wallet calls Vault. It does so for refunds only, which are few and far between in most of the weeks."
TWO = f"{GOOD}\n\n{BAD}"


@pytest.fixture
async def stack(stores: Stores) -> AsyncGenerator[Stack]:
    async with open_stack(stores, SentenceExtractor()) as stack:
        yield stack


def extractor_of(stack: Stack) -> SentenceExtractor:
    assert isinstance(stack.extractors.extractor, SentenceExtractor)
    return stack.extractors.extractor


async def failures(stack: Stack, *subjects: str) -> list[FailedChunk]:
    return await stack.upkeep.failures(Reader(stack.tenant, subjects or None))


async def test_a_failure_is_listed_with_its_chunk_its_attempts_and_its_reason(stack: Stack) -> None:
    extractor_of(stack).faults.fail(BAD, ModelRefused("no such model"))
    await stack.put("a.md", TWO)
    (failure,) = await failures(stack)
    assert (failure.source, failure.index, failure.attempts) == (SourceRef("document", "a.md"), 1, 1)
    assert (failure.failure.code, failure.failure.message) == ("model_refused", "no such model")
    await stack.put("a.md", TWO)
    assert [one.attempts for one in await failures(stack)] == [2]


async def test_an_answer_that_is_no_json_is_a_failure_with_a_reason(stack: Stack) -> None:
    extractor_of(stack).answers[BAD] = "I am sorry"
    await stack.put("a.md", BAD)
    assert [one.failure.code for one in await failures(stack)] == ["model_failed"]


async def test_a_retry_reads_failed_chunks_alone_and_queues_their_sources_alone(stack: Stack) -> None:
    extractor_of(stack).faults.fail(BAD)
    await stack.put("a.md", TWO)
    await stack.put("b.md", GOOD)
    extractor_of(stack).faults.failing.clear()
    calls, embedded = extractor_of(stack).calls, stack.embedder.texts
    runs = await stack.upkeep.retry_failures(Reader(stack.tenant))
    assert [run.ref.id for run in runs] == ["a.md"]
    result = await stack.finished(runs[0])
    assert (result.graph.extraction_calls, extractor_of(stack).calls - calls) == (1, 1)
    assert extractor_of(stack).seen[-1].text == BAD
    assert stack.embedder.texts - embedded == 3  # the names and the fact that are new in the graph, no chunk
    assert await failures(stack) == []
    assert {entity.id for entity in (await stack.exported()).entities} >= {"thing:wallet", "thing:ledger"}
    assert await stack.upkeep.retry_failures(Reader(stack.tenant)) == []


async def test_failures_are_gone_with_their_chunk_and_seen_by_its_readers_alone(stack: Stack) -> None:
    extractor_of(stack).faults.fail(BAD)
    await stack.put("a.md", TWO, subjects=["group:sre"])
    assert await failures(stack, "group:web") == []
    assert await stack.upkeep.retry_failures(Reader(stack.tenant, ("group:web",))) == []
    assert len(await failures(stack, "group:sre")) == 1
    await stack.put("a.md", GOOD, subjects=["group:sre"])
    assert await failures(stack) == []
