"""From chunks to evidence: gates, reuse, extraction, and what became of each chunk."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import structlog

from knotwork.domain.catalogue import (
    Evidence,
    ExtractionFailure,
    ExtractionState,
    GraphResult,
    Run,
    StoredChunk,
    TenantSettings,
)
from knotwork.domain.inputs import extraction_key
from knotwork.domain.model import NO_USAGE, Chunk, ChunkId, Contribution, Source, TenantId, Usage
from knotwork.domain.normalise import clean_text
from knotwork.domain.sanitise import sanitise_extraction
from knotwork.errors import ModelFailed, PlatformError
from knotwork.ports.catalogue import Catalogue
from knotwork.ports.graph_store import GraphStore
from knotwork.ports.models import ExtractionInput, Extractor
from knotwork.services.run_control import RunControl
from knotwork.services.vector_sync import VectorSync

log = structlog.get_logger()

# Chunks read before their evidence is stored, where reading costs nothing but time. Answers of a model are stored
# before the next are asked for, so that a crash costs no more calls than were under way.
SLICE_CHUNKS = 128

REASON_CHARS = 500  # of an error kept with the chunk, at most
CANCELLED = ExtractionFailure("cancelled", "the job was cancelled before it was read; `failures --retry` reads it")
NOT_JSON = ExtractionFailure(ModelFailed.code, "the extractor's answer is not JSON")


class Extractors(Protocol):
    """Which extractor reads for a tenant; asked at each run, so that a change of settings takes effect at once."""

    @property
    def configured(self) -> bool: ...

    def for_tenant(self, settings: TenantSettings) -> Extractor: ...


@dataclass(frozen=True, slots=True)
class GraphWork:
    """A source whose graph is due: its chunks as they are now, and as they were stored before the run."""

    run: Run
    source: Source
    chunks: Sequence[Chunk]
    before: Mapping[ChunkId, StoredChunk]
    control: RunControl

    @property
    def is_cancelled(self) -> bool:
        return self.control.is_cancelled(self.run.id)


@dataclass(slots=True)
class Tally:
    """What building the graph of one source did."""

    states: dict[ChunkId, ExtractionState] = field(default_factory=dict[ChunkId, ExtractionState])
    entities: set[str] = field(default_factory=set[str])
    relationships: set[str] = field(default_factory=set[str])
    pruned: int = 0
    calls: int = 0
    usage: Usage = NO_USAGE


@dataclass(frozen=True, slots=True)
class Due:
    """A chunk to be read."""

    work: GraphWork
    chunk: Chunk
    key: str
    stale: bool  # has evidence under another key, which goes


@dataclass(frozen=True, slots=True)
class Answer:
    evidence: Evidence
    usage: Usage = NO_USAGE
    called: bool = False


class GraphBuilder:
    """Builds the graph of sources, as far as the gates let it."""

    def __init__(
        self,
        *,
        catalogue: Catalogue,
        graph: GraphStore,
        extractors: Extractors,
        sync: VectorSync,
        concurrency: int = 1,
    ) -> None:
        self._catalogue, self._graph, self._extractors, self._sync = catalogue, graph, extractors, sync
        self._concurrency = max(1, concurrency)

    async def build(self, tenant: TenantId, works: Sequence[GraphWork]) -> list[GraphResult]:
        """The graph of each source is that of its present chunks, or gone where a gate is shut; results in order."""
        started = time.monotonic()
        extractor, open_works = await self._open(tenant, works)
        opened = {id(work) for work in open_works}
        results = {id(work): await self._take_back(tenant, work) for work in works if id(work) not in opened}
        if extractor is not None:
            tallies = await self._read(tenant, extractor, open_works)
            elapsed_ms = round((time.monotonic() - started) * 1000)
            results |= {id(work): _result(work, tallies[id(work)], elapsed_ms) for work in open_works}
        if any(result.ran for result in results.values()):
            await self._sync.follow(tenant)
        return [results[id(work)] for work in works]

    async def extractor_for(self, tenant: TenantId) -> Extractor | None:
        """What reads chunks for this tenant; None where nothing does. The gates, cheapest first: one read at most."""
        if not self._extractors.configured:
            return None
        settings = await self._catalogue.tenant(tenant)
        if settings.graph is False:
            return None
        extractor = self._extractors.for_tenant(settings)
        return None if settings.graph is None and extractor.calls_model else extractor

    async def _open(self, tenant: TenantId, works: Sequence[GraphWork]) -> tuple[Extractor | None, list[GraphWork]]:
        """The extractor, and the works that it is to read: the last gate is each source's own flag."""
        extractor = await self.extractor_for(tenant) if works else None
        return extractor, [work for work in works if extractor is not None and work.source.graph is not False]

    async def _take_back(self, tenant: TenantId, work: GraphWork) -> GraphResult:
        read = [chunk.id for chunk in work.before.values() if chunk.extraction_key is not None]
        if not read:
            return GraphResult()
        started = time.monotonic()
        change = await self._graph.remove_evidence(tenant, read)
        return GraphResult(ran=True, pruned=change.pruned, elapsed_ms=round((time.monotonic() - started) * 1000))

    async def _read(self, tenant: TenantId, extractor: Extractor, works: Sequence[GraphWork]) -> dict[int, Tally]:
        tallies = {id(work): Tally() for work in works}
        due: list[Due] = []
        for work in works:
            for chunk in work.chunks:
                before, key = work.before.get(chunk.id), extraction_key(extractor.id, chunk)
                if before and before.extraction_key == key and before.extraction_state is not ExtractionState.FAILED:
                    tallies[id(work)].states[chunk.id] = before.extraction_state
                else:
                    stale = before is not None and before.extraction_key not in {None, key}
                    due.append(Due(work, chunk, key, stale))
        size = self._concurrency if extractor.calls_model else SLICE_CHUNKS
        for group in _groups(due):
            for part in _slices(group, size):
                answers = await self._answers(tenant, extractor, part)
                change = await self._graph.put_evidence(tenant, [answer.evidence for answer in answers])
                tallies[id(part[0].work)].pruned += change.pruned  # only a group of one source has stale evidence
                for one, answer in zip(part, answers, strict=True):
                    _count(tallies[id(one.work)], answer)
                for work in {id(one.work): one.work for one in part}.values():
                    work.control.report(work.run, len(tallies[id(work)].states), len(work.chunks))
        return tallies

    async def _answers(self, tenant: TenantId, extractor: Extractor, part: Sequence[Due]) -> list[Answer]:
        """Evidence of each chunk: that of an equal chunk where there is one, else the extractor's answer."""
        if part[0].work.is_cancelled:
            return [Answer(_failed(one, CANCELLED)) for one in part]
        known = await self._graph.contributions(tenant, [one.key for one in part])
        gate = asyncio.Semaphore(self._concurrency)
        asked: dict[str, asyncio.Task[Answer]] = {}

        async def ask(one: Due) -> Answer:
            async with gate:
                return await _extract(extractor, one)

        async with asyncio.TaskGroup() as group:
            for one in part:
                if one.key not in known and one.key not in asked:  # equal chunks of one slice are read once
                    asked[one.key] = group.create_task(ask(one))
        answers: list[Answer] = []
        for one in part:
            if one.key in known:
                answers.append(Answer(_for_chunk(known[one.key], one.chunk.id)))
                continue
            answer = asked[one.key].result()
            own = answer.evidence.chunk_id == one.chunk.id
            answers.append(answer if own else Answer(_for_chunk(answer.evidence, one.chunk.id)))
        return answers


async def _extract(extractor: Extractor, one: Due) -> Answer:
    chunk = one.chunk
    question = ExtractionInput(chunk.id, chunk.text, chunk.title, chunk.headings)
    try:
        extraction = await extractor.extract(question)
    except Exception as error:  # noqa: BLE001 - whatever an extractor does, the chunk stays findable and is named
        code = error.code if isinstance(error, PlatformError) else PlatformError.code
        failure = ExtractionFailure(code, clean_text(str(error))[:REASON_CHARS])
        log.warning("extraction_failed", chunk=chunk.id, extractor=extractor.id, code=code, reason=failure.message)
        return Answer(_failed(one, failure), called=True)
    if not isinstance(extraction.raw, dict | list):
        log.warning("extraction_failed", chunk=chunk.id, extractor=extractor.id, reason=NOT_JSON.message)
        return Answer(_failed(one, NOT_JSON), extraction.usage, called=True)
    contribution = sanitise_extraction(chunk.id, extraction.raw)
    state = ExtractionState.DONE if contribution.entities else ExtractionState.EMPTY
    return Answer(Evidence(chunk.id, one.key, state, contribution), extraction.usage, called=True)


def _failed(one: Due, failure: ExtractionFailure) -> Evidence:
    return Evidence(one.chunk.id, one.key, ExtractionState.FAILED, Contribution(), failure)


def _groups(due: Sequence[Due]) -> list[list[Due]]:
    """Chunks without evidence together, for large transactions; those with stale evidence by source, to count it."""
    fresh = [one for one in due if not one.stale]
    stale: dict[int, list[Due]] = {}
    for one in due:
        if one.stale:
            stale.setdefault(id(one.work), []).append(one)
    return [fresh, *stale.values()]


def _slices(group: Sequence[Due], size: int) -> Iterator[list[Due]]:
    """The group in slices of `size`; as soon as a run is cancelled, what is left of it comes as slices of its own."""
    rest = list(group)
    works = {id(one.work): one.work for one in group}
    while rest:
        for work in [work for work in works.values() if work.is_cancelled]:
            del works[id(work)]
            left_out = [one for one in rest if one.work is work]
            rest = [one for one in rest if one.work is not work]
            for start in range(0, len(left_out), SLICE_CHUNKS):
                yield left_out[start : start + SLICE_CHUNKS]
        part, rest = rest[:size], rest[size:]
        if part:
            yield part


def _for_chunk(evidence: Evidence, chunk_id: ChunkId) -> Evidence:
    """The same contribution as another chunk's own."""
    return replace(
        evidence,
        chunk_id=chunk_id,
        contribution=Contribution(
            tuple(replace(entity, provenance=(chunk_id,)) for entity in evidence.contribution.entities),
            tuple(replace(one, provenance=(chunk_id,)) for one in evidence.contribution.relationships),
        ),
    )


def _count(tally: Tally, answer: Answer) -> None:
    evidence = answer.evidence
    tally.states[evidence.chunk_id] = evidence.state
    tally.entities.update(entity.id for entity in evidence.contribution.entities)
    tally.relationships.update(relationship.id for relationship in evidence.contribution.relationships)
    tally.calls += answer.called
    tally.usage += answer.usage


def _result(work: GraphWork, tally: Tally, elapsed_ms: int) -> GraphResult:
    states = [tally.states[chunk.id] for chunk in work.chunks]
    return GraphResult(
        ran=bool(work.chunks),
        entities=len(tally.entities),
        relationships=len(tally.relationships),
        pruned=tally.pruned,
        extraction_calls=tally.calls,
        input_tokens=tally.usage.input_tokens,
        output_tokens=tally.usage.output_tokens,
        unusable_chunks=sum(state in {ExtractionState.EMPTY, ExtractionState.FAILED} for state in states),
        failed_chunks=states.count(ExtractionState.FAILED),
        elapsed_ms=elapsed_ms,
    )
