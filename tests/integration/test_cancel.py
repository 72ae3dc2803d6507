"""Runs that nobody wants any more, and tenants whose runs wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Any

import pytest

from knotwork.domain.catalogue import Run, RunState
from knotwork.domain.model import ParsedText, Source, SourceRef
from knotwork.domain.retrieval import Mode, Reader
from knotwork.errors import NotFound
from knotwork.ports.vector_store import Collection
from knotwork.services.index import EMBED_CHUNKS
from support.stack import SentenceExtractor, Stack, Stores, TextChunker, build_stack, open_stack

pytestmark = pytest.mark.neo4j

REF = SourceRef("document", "a.md")
LONG = "\n\n".join(
    f"Checkout calls Ledger{number}. It does so many times a day, as every order of the shop needs it."
    for number in range(EMBED_CHUNKS + 40)
)
SHORT = "\n\n".join(LONG.split("\n\n")[:6])


class SlowExtractor(SentenceExtractor):
    """Waits before each answer until it may give one; a model, as far as the platform knows."""

    def __init__(self) -> None:
        super().__init__(calls_model=True)
        self.allowed = asyncio.Semaphore(0)
        self.asked = asyncio.Event()

    async def extract(self, chunk: Any) -> Any:
        self.asked.set()
        await self.allowed.acquire()
        return await super().extract(chunk)


@pytest.fixture
async def stack(stores: Stores) -> AsyncGenerator[Stack]:
    async with open_stack(stores, SentenceExtractor()) as stack:
        yield stack


async def accept(stack: Stack, text: str, id_: str = "a.md") -> Run:
    return await stack.intake.put(stack.tenant, Source(SourceRef("document", id_), "", ""), ParsedText(text))


async def over(stack: Stack, run: Run) -> Run:
    return await asyncio.wait_for(stack.intake.wait(stack.tenant, run.id), 60)


async def texts(stack: Stack) -> set[object]:
    return {payload["text"] for payload in (await stack.points(Collection.CHUNKS)).values()}


async def test_a_run_that_waits_is_never_started(stack: Stack) -> None:
    await stack.put("a.md", "Checkout calls Ledger.")
    embedded = stack.embedder.calls
    async with stack.intake.hold(stack.tenant):
        run, later = await accept(stack, "Checkout calls Wallet."), await accept(stack, "Checkout calls Vault.", "b.md")
        assert (await stack.intake.cancel(stack.tenant, run.id)).state is RunState.CANCELLED
        assert (await over(stack, run)).state is RunState.CANCELLED
    assert (await over(stack, later)).state is RunState.DONE
    assert await texts(stack) == {"Checkout calls Ledger.", "Checkout calls Vault."}
    assert stack.embedder.calls - embedded == 3  # of b.md: its chunk, new names, new facts
    assert await stack.ledger.texts(stack.tenant, [run.id]) == {}
    assert (await stack.intake.cancel(stack.tenant, run.id)).state is RunState.CANCELLED


async def test_a_run_cancelled_while_it_embeds_leaves_the_source_as_it_was(stack: Stack) -> None:
    await stack.put("a.md", SHORT)
    before = await stack.exported(), await stack.points(Collection.CHUNKS)
    chunks = await TextChunker().chunk(ParsedText(LONG), REF)
    stack.embedder.faults.fail(chunks[-1].text)  # of the second slice; tried again and again
    run = await accept(stack, LONG)
    while len(await stack.points(Collection.CHUNKS)) < EMBED_CHUNKS:  # noqa: ASYNC110 - a store tells nobody
        await asyncio.sleep(0.05)
    assert (await stack.intake.cancel(stack.tenant, run.id)).state is RunState.CANCELLING
    assert (await over(stack, run)).state is RunState.CANCELLED
    assert (await stack.exported(), await stack.points(Collection.CHUNKS)) == before
    assert (await stack.put("a.md", SHORT)).written == 0


async def test_a_new_source_cancelled_while_it_embeds_never_comes_to_be(stack: Stack) -> None:
    stack.embedder.faults.fail("Checkout calls Ledger.")
    run = await accept(stack, "Checkout calls Ledger.")
    await asyncio.sleep(0.1)
    await stack.intake.cancel(stack.tenant, run.id)
    assert (await over(stack, run)).state is RunState.CANCELLED
    assert await stack.points(Collection.CHUNKS) == {}
    with pytest.raises(NotFound):
        await stack.delete("a.md")


async def test_a_run_cancelled_while_it_reads_completes_its_text_and_lists_what_it_left_unread(stack: Stack) -> None:
    extractor = SlowExtractor()
    await stack.put("a.md", "Wallet calls Vault.")
    stack.extractors.extractor = extractor
    await stack.catalogue.put_tenant(stack.tenant, replace(await stack.catalogue.tenant(stack.tenant), graph=True))
    run = await accept(stack, SHORT)
    await extractor.asked.wait()
    assert (await stack.intake.cancel(stack.tenant, run.id)).state is RunState.CANCELLING
    stored = await stack.ledger.run(stack.tenant, run.id)
    assert stored is not None
    assert stored.state is RunState.CANCELLING
    extractor.allowed.release()
    ended = await over(stack, run)
    chunks = await TextChunker().chunk(ParsedText(SHORT), REF)
    assert (ended.state, extractor.calls) == (RunState.CANCELLED, 1)
    assert ended.result is not None
    assert ended.result.graph.failed_chunks == len(chunks) - 1
    assert await texts(stack) == {chunk.text for chunk in chunks}
    assert set(await stack.found("Ledger3", Mode.KEYWORD)) == {"a.md"}
    failures = await stack.upkeep.failures(Reader(stack.tenant))
    assert {(one.failure.code, one.source) for one in failures} == {("cancelled", REF)}
    assert len(failures) == len(chunks) - 1
    for _ in chunks:
        extractor.allowed.release()
    (again,) = await stack.upkeep.retry_failures(Reader(stack.tenant))
    assert (await over(stack, again)).state is RunState.DONE
    assert extractor.calls == len(chunks)
    assert {f"thing:ledger{number}" for number in range(6)} <= {one.id for one in (await stack.exported()).entities}


async def test_a_run_cancelled_when_nothing_is_left_to_leave_out_is_done(stack: Stack) -> None:
    extractor = SlowExtractor()
    stack.extractors.extractor = extractor
    await stack.catalogue.put_tenant(stack.tenant, replace(await stack.catalogue.tenant(stack.tenant), graph=True))
    run = await accept(stack, "Checkout calls Ledger.")
    await extractor.asked.wait()
    await stack.intake.cancel(stack.tenant, run.id)
    extractor.allowed.release()
    assert (await over(stack, run)).state is RunState.DONE


async def test_a_cancellation_outlives_the_process(stack: Stack, stores: Stores) -> None:
    extractor = SlowExtractor()
    stack.extractors.extractor = extractor
    await stack.catalogue.put_tenant(stack.tenant, replace(await stack.catalogue.tenant(stack.tenant), graph=True))
    run = await accept(stack, SHORT)
    await extractor.asked.wait()
    await stack.intake.cancel(stack.tenant, run.id)
    await stack.intake.stop()
    following = build_stack(stores, stack.tenant, extractor)
    await following.intake.start()
    try:
        assert (await over(following, run)).state is RunState.CANCELLED
        assert extractor.calls == 0
        assert set(await following.found("Ledger3", Mode.KEYWORD)) == {"a.md"}
    finally:
        await following.intake.stop()


async def test_a_job_of_another_tenant_cannot_be_cancelled(stack: Stack, stores: Stores) -> None:
    async with open_stack(stores, None) as other, stack.intake.hold(stack.tenant):
        run = await accept(stack, "Checkout calls Ledger.")
        with pytest.raises(NotFound):
            await stack.intake.cancel(other.tenant, run.id)


async def test_a_paused_tenant_starts_nothing_until_it_is_resumed_also_after_a_restart(
    stack: Stack, stores: Stores
) -> None:
    await stack.intake.pause(stack.tenant, paused=True)
    runs = [await accept(stack, f"Checkout calls Ledger{number}.", f"{number}.md") for number in range(200)]
    await stack.intake.stop()
    following = build_stack(stores, stack.tenant, SentenceExtractor())
    await following.intake.start()
    try:
        await asyncio.sleep(0.2)
        assert (following.intake.is_paused(stack.tenant), following.embedder.calls) == (True, 0)
        async with open_stack(stores, None) as other:
            await other.put("a.md", "Others go on.")
        await following.intake.pause(stack.tenant, paused=False)
        assert {(await over(following, run)).state for run in runs} == {RunState.DONE}
        assert (await following.catalogue.counts(stack.tenant))["sources"] == 200
    finally:
        await following.intake.stop()
