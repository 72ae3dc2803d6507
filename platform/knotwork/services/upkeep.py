"""What a tenant's operators look after: chunks that could not be read, and sources that are no longer up to date."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from knotwork.domain.catalogue import FailedChunk, Run, SourceState
from knotwork.domain.inputs import embedding_key, extraction_key
from knotwork.domain.model import Chunk, ChunkId, ParsedText, Source, SourceRef, TenantId
from knotwork.domain.retrieval import Reader
from knotwork.ports.catalogue import Catalogue
from knotwork.ports.chunker import Chunker
from knotwork.ports.models import Embedder, Extractor
from knotwork.ports.vector_store import View
from knotwork.services.extract import GraphBuilder
from knotwork.services.index import is_same_place
from knotwork.services.intake import Intake

PAGE = 1000  # failed chunks looked at together


class Staleness(StrEnum):
    """What of a source is not as the present configuration would make it."""

    CHUNKS = "chunks"  # another chunker, or other settings of it
    EMBEDDING = "embedding"  # another embedding model
    EXTRACTION = "extraction"  # another extractor or model, or a switch that was turned since


@dataclass(frozen=True, slots=True)
class StaleSource:
    """A source to be indexed again, and why; reasons in the order of Staleness."""

    source: Source
    reasons: tuple[Staleness, ...]


@dataclass(frozen=True, slots=True)
class StalePage:
    """The stale ones of the sources looked at, and the last one looked at (None: there are no more)."""

    sources: Sequence[StaleSource]
    next: SourceRef | None


@dataclass(frozen=True, slots=True)
class QueuedPage:
    """The runs queued for a page of sources, and its last source (None: there are no more)."""

    runs: Sequence[Run]
    next: SourceRef | None


class Upkeep:
    """Finds what is not as it should be, within what a reader may see, and has it done again. Asks no model."""

    def __init__(
        self,
        *,
        catalogue: Catalogue,
        intake: Intake,
        chunker: Chunker,
        embedder: Embedder,
        graph_builder: GraphBuilder,
    ) -> None:
        self._catalogue, self._intake = catalogue, intake
        self._chunker, self._embedder, self._graph_builder = chunker, embedder, graph_builder

    async def failures(self, reader: Reader, *, after: ChunkId | None = None, limit: int = 100) -> list[FailedChunk]:
        """A page of the chunks whose extraction failed, by chunk id."""
        return await self._catalogue.failed_chunks(reader.tenant, view=View(reader.subjects), after=after, limit=limit)

    async def retry_failures(self, reader: Reader) -> list[Run]:
        """Queue the sources that have failed chunks; of these, the failed chunks alone are read again."""
        runs: list[Run] = []
        seen: set[SourceRef] = set()
        after: ChunkId | None = None
        while page := await self.failures(reader, after=after, limit=PAGE):
            refs = {chunk.source for chunk in page} - seen
            seen |= refs
            runs += await self._intake.look_again(reader.tenant, await self._sources(reader.tenant, refs))
            after = page[-1].chunk_id
        return runs

    async def stale(self, reader: Reader, *, after: SourceRef | None = None, limit: int = 100) -> StalePage:
        """Those of the next `limit` sources, by (type, id), that the present configuration would make otherwise.

        Each is cut anew and the keys of its chunks are compared; chunks that failed are no reason.
        """
        page = await self._page(reader, after, limit)
        extractor = await self._graph_builder.extractor_for(reader.tenant)
        states = await self._catalogue.states(reader.tenant, [source.ref for source in page])
        found: list[StaleSource] = []
        for source in page:
            parsed = await self._catalogue.text(reader.tenant, source.ref)
            state = states.get(source.ref)
            if parsed is None or state is None:  # deleted meanwhile
                continue
            reasons = await self._reasons(state, parsed, extractor)
            if reasons:
                found.append(StaleSource(source, reasons))
        return StalePage(found, page[-1].ref if len(page) == limit else None)

    async def reindex(
        self, reader: Reader, *, after: SourceRef | None = None, limit: int = 100, stale_only: bool = True
    ) -> QueuedPage:
        """Queue the stale ones, or all, of the next `limit` sources.

        What was queued stays queued, and a source that is up to date costs no model call: after an interruption go on
        from the last page, or begin anew.
        """
        if stale_only:
            found = await self.stale(reader, after=after, limit=limit)
            sources, following = [one.source for one in found.sources], found.next
        else:
            sources = await self._page(reader, after, limit)
            following = sources[-1].ref if len(sources) == limit else None
        return QueuedPage(await self._intake.look_again(reader.tenant, sources), following)

    async def _reasons(
        self, state: SourceState, parsed: ParsedText, extractor: Extractor | None
    ) -> tuple[Staleness, ...]:
        chunks = await self._chunker.chunk(parsed, state.source.ref)
        stored = {chunk.id: chunk for chunk in state.chunks}
        if len(stored) != len(chunks) or not all(
            chunk.id in stored and is_same_place(stored[chunk.id], chunk) for chunk in chunks
        ):
            return (Staleness.CHUNKS,)  # what follows is of chunks that go
        pairs = [(stored[chunk.id], chunk) for chunk in chunks]
        reasons: list[Staleness] = []
        if any(one.embedding_key != embedding_key(self._embedder.id, chunk) for one, chunk in pairs):
            reasons.append(Staleness.EMBEDDING)
        reads = extractor if state.source.graph is not False else None
        if any(one.extraction_key != _wanted(reads, chunk) for one, chunk in pairs):
            reasons.append(Staleness.EXTRACTION)
        return tuple(reasons)

    async def _page(self, reader: Reader, after: SourceRef | None, limit: int) -> list[Source]:
        view = View(reader.subjects)
        return await self._catalogue.sources(reader.tenant, view=view, after=after, limit=limit)

    async def _sources(self, tenant: TenantId, refs: set[SourceRef]) -> Sequence[Source]:
        found = [await self._catalogue.source(tenant, ref, view=View()) for ref in sorted(refs)]
        return [source for source in found if source is not None]  # None: deleted meanwhile


def _wanted(extractor: Extractor | None, chunk: Chunk) -> str | None:
    return None if extractor is None else extraction_key(extractor.id, chunk)
