"""The corpus of an evaluation set, indexed as any client's sources are."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine

from knotwork.domain.catalogue import TenantSettings
from knotwork.domain.model import ParsedText, Source, SourceRef, TenantId
from knotwork.domain.retrieval import Reader
from knotwork.errors import SetupFailed
from knotwork.ports.catalogue import Catalogue
from knotwork.ports.vector_store import View
from knotwork.services.evaluation import EvaluationSet
from knotwork.services.intake import Intake
from knotwork.services.upkeep import Upkeep

IN_FLIGHT = 32
PAGE = 1000
SHOW_S = 0.2  # between two calls of on_progress

OnIndexed = Callable[[int, int], None]  # sources done, of how many


async def index_set(
    given: EvaluationSet,
    tenant: TenantId,
    *,
    catalogue: Catalogue,
    intake: Intake,
    upkeep: Upkeep,
    on_progress: OnIndexed,
) -> int:
    """Have the tenant hold the corpus as the present configuration makes it; how many sources had to be indexed.

    What an earlier call has indexed already is kept, so that a call that was cut short is carried on.

    Raises:
        SetupFailed: a source could not be indexed.
    """
    await catalogue.put_tenant(tenant, TenantSettings())
    unfinished = intake.counts.queued + intake.counts.running  # of a call that was cut short
    await _shown(intake.settle(tenant), intake, unfinished, on_progress)
    stored, after = set[SourceRef](), None
    while page := await catalogue.sources(tenant, view=View(), after=after, limit=PAGE):
        stored |= {source.ref for source in page}
        after = page[-1].ref
    missing = [document for document in given.documents() if document[0].ref not in stored]
    behind = await _look_again(upkeep, tenant) if stored else 0
    await _shown(_put(intake, tenant, missing), intake, len(missing) + behind, on_progress)
    if failed := intake.counts.failed:
        raise SetupFailed(f"{failed} passages of the corpus could not be indexed; the log of the home says why")
    return unfinished + len(missing) + behind


async def _shown(work: Coroutine[None, None, None], intake: Intake, total: int, on_progress: OnIndexed) -> None:
    """Do the work, telling now and then how many runs have ended since it began."""
    task, before = asyncio.create_task(work), intake.counts
    try:
        while not task.done():
            await asyncio.wait({task}, timeout=SHOW_S)
            on_progress(intake.counts.done - before.done, total)
        await task
    finally:
        task.cancel()
        await asyncio.wait({task})


async def _put(intake: Intake, tenant: TenantId, documents: list[tuple[Source, ParsedText]]) -> None:
    turns = asyncio.Semaphore(IN_FLIGHT)

    async def put(source: Source, parsed: ParsedText) -> None:
        async with turns:
            await intake.put(tenant, source, parsed)

    await asyncio.gather(*(put(*document) for document in documents))
    await intake.settle(tenant)


async def _look_again(upkeep: Upkeep, tenant: TenantId) -> int:
    """Queue the sources that other settings or models have left behind; how many."""
    queued, after = 0, None
    while True:
        page = await upkeep.reindex(Reader(tenant), after=after, limit=PAGE, stale_only=True)
        queued, after = queued + len(page.runs), page.next
        if after is None:
            return queued
