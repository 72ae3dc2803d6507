"""Indexing: runs go through the ledger's steps, many sources at a time.

recorded → chunks (vector store, then catalogue) → graph (evidence, then entity vectors) → pruned → done. Each step
reads what is there and does what is missing, so that a run that was cut off is simply run again.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import structlog

from knotwork.domain.catalogue import (
    GraphResult,
    IndexResult,
    Run,
    RunKind,
    RunState,
    RunStep,
    SourceChange,
    SourceState,
    StoredChunk,
)
from knotwork.domain.inputs import PREVIEW_CHARS, embedding_key, embedding_text
from knotwork.domain.model import Chunk, ChunkId, ParsedText, Source, TenantId, Vector
from knotwork.errors import NotFound, PlatformError
from knotwork.ports.catalogue import Catalogue, SourceWrite
from knotwork.ports.chunker import Chunker
from knotwork.ports.graph_store import GraphStore
from knotwork.ports.ledger import Ledger
from knotwork.ports.models import Embedder
from knotwork.ports.vector_store import Collection, Point, VectorStore, View
from knotwork.services.extract import GraphBuilder, GraphWork
from knotwork.services.points import chunk_payload, chunk_point
from knotwork.services.run_control import RunControl
from knotwork.services.vector_sync import VectorSync

log = structlog.get_logger()

EMBED_CHUNKS = 256  # chunks embedded and written at once: bounds memory, and what a crash repeats


@dataclass(slots=True)
class Work:
    """One run on its way through the steps."""

    run: Run
    source: Source | None  # as it will be; None: it goes
    parsed: ParsedText | None = None
    chunks: list[Chunk] = field(default_factory=list[Chunk])
    before: SourceState | None = None
    written: int = 0
    batches: int = 0
    freshness_met: bool = True
    graph: GraphResult = field(default_factory=GraphResult)
    withdrawn: bool = False  # cancelled before it changed anything of the stored source

    @property
    def new(self) -> list[Chunk]:
        """Chunks that are not stored under their id."""
        known = self.known
        return [chunk for chunk in self.chunks if chunk.id not in known]

    @property
    def gone(self) -> list[ChunkId]:
        """Chunks of the earlier version that the new one has no more."""
        kept = {chunk.id for chunk in self.chunks}
        return [chunk.id for chunk in self.before.chunks if chunk.id not in kept] if self.before else []

    @property
    def known(self) -> dict[ChunkId, StoredChunk]:
        return {chunk.id: chunk for chunk in self.before.chunks} if self.before else {}


class Indexer:
    """Carries runs out. The caller sees to it that no source is in two calls at once."""

    def __init__(
        self,
        *,
        catalogue: Catalogue,
        ledger: Ledger,
        graph: GraphStore,
        vectors: VectorStore,
        embedder: Embedder,
        chunker: Chunker,
        graph_builder: GraphBuilder,
        sync: VectorSync,
        freshness_target_s: float = 60.0,
    ) -> None:
        self._catalogue, self._ledger, self._graph, self._vectors = catalogue, ledger, graph, vectors
        self._embedder, self._chunker, self._graph_builder, self._sync = embedder, chunker, graph_builder, sync
        self._freshness_target_s = freshness_target_s

    async def index(self, tenant: TenantId, runs: Sequence[Run], control: RunControl) -> list[Run]:
        """Carry these runs, of distinct sources, to their end; the runs as recorded, in the same order.

        A run that is cancelled before it changed anything of its source is taken back. After that its text is
        completed, and chunks not yet read are left as failed.

        Raises:
            PlatformError: the runs are unfinished and can be carried out again; retryable says whether that may help.
        """
        started = time.monotonic()
        texts = await self._ledger.texts(tenant, [run.id for run in runs if run.kind is RunKind.INDEX])
        works = [await self._plan(tenant, run, texts.get(run.id)) for run in runs]
        states = await self._catalogue.states(tenant, [work.run.ref for work in works])
        for work in works:
            work.before = states.get(work.run.ref)
        await self._embed_all(tenant, works, control)
        if going_on := [work for work in works if not work.withdrawn]:
            await self._index_chunks(tenant, going_on)
            await self._record(tenant, going_on, RunStep.CHUNKS, control)
            await self._index_graph(tenant, going_on, control)
            await self._record(tenant, going_on, RunStep.GRAPH, control)
            await self._prune(tenant, going_on)
            await self._record(tenant, going_on, RunStep.PRUNED, control)
        elapsed_ms = round((time.monotonic() - started) * 1000)
        over = [self._over(work, elapsed_ms, control) for work in works]
        await self._ledger.record(tenant, over)
        return over

    async def discard(self, tenant: TenantId, run: Run) -> None:
        """Take back what a failed run wrote beside the stored source: passages that nothing else knows of.

        A run that failed after its source was stored leaves the source as the run wanted it.
        """
        if run.kind is not RunKind.INDEX:
            return
        texts = await self._ledger.texts(tenant, [run.id])
        try:
            work = await self._plan(tenant, run, texts.get(run.id))
        except PlatformError:  # what cannot be planned wrote nothing
            return
        work.before = (await self._catalogue.states(tenant, [run.ref])).get(run.ref)
        if work.new:
            await self._vectors.delete(tenant, Collection.CHUNKS, [chunk.id for chunk in work.new])
            await self._vectors.flush()

    async def _plan(self, tenant: TenantId, run: Run, accepted: ParsedText | None) -> Work:
        """What the run wants: the source as it will be, its text and chunks; nothing is written."""
        if run.kind is RunKind.DELETE:
            return Work(run, source=None)
        if run.kind is RunKind.INDEX:
            source, parsed = run.source, accepted
        else:
            source = await self._catalogue.source(tenant, run.ref, view=View())
            parsed = await self._catalogue.text(tenant, run.ref)
            if source is None and run.change == SourceChange():
                return Work(run, source=None)  # to be looked at again, and deleted by a run accepted before
            source = changed_source(source, run) if source else None
        if source is None or parsed is None:
            raise NotFound("source", run.ref.id)
        return Work(run, source, parsed, await self._chunker.chunk(parsed, source.ref))

    async def _embed_all(self, tenant: TenantId, works: Sequence[Work], control: RunControl) -> None:
        """Give chunks their points: first those that are new, as a run can be taken back until a stored one changes."""
        handled: Counter[str] = Counter()

        async def embed(due: Sequence[tuple[Work, Chunk]]) -> None:
            await self._embed(tenant, due)
            handled.update(work.run.id for work, _ in due)
            for work in {id(work): work for work, _ in due}.values():
                control.report(work.run, handled[work.run.id], len(work.chunks))

        due = [(work, chunk) for work in works for chunk in work.new]
        for work in works:
            work.written = len(work.new)
        while due:
            if self._withdraw(works, control):
                due = [(work, chunk) for work, chunk in due if not work.withdrawn]
            part, due = due[:EMBED_CHUNKS], due[EMBED_CHUNKS:]
            if part:
                await embed(part)
        self._withdraw(works, control)
        if taken_back := [chunk.id for work in works if work.withdrawn for chunk in work.new]:
            await self._vectors.delete(tenant, Collection.CHUNKS, taken_back)
            await self._vectors.flush()
        going_on = [work for work in works if not work.withdrawn]
        for work in going_on:
            control.begin(work.run.id)
        changed = [(work, chunk) for work in going_on for chunk in self._changed(work)]
        for start in range(0, len(changed), EMBED_CHUNKS):
            await embed(changed[start : start + EMBED_CHUNKS])

    def _withdraw(self, works: Sequence[Work], control: RunControl) -> bool:
        """Mark the works that are cancelled and can be taken back; whether there are any."""
        for work in works:
            work.withdrawn = control.is_cancelled(work.run.id) and not control.has_begun(work.run.id)
        return any(work.withdrawn for work in works)

    async def _index_chunks(self, tenant: TenantId, works: Sequence[Work]) -> None:
        for work in works:
            await self._place(tenant, work)
        gone = [chunk_id for work in works for chunk_id in work.gone]
        if gone:
            await self._vectors.delete(tenant, Collection.CHUNKS, gone)
        if any(self._is_changed(work) for work in works):
            await self._vectors.flush()
        now = time.time()
        for work in works:
            work.freshness_met = now - work.run.accepted_at <= self._freshness_target_s
        await self._catalogue_chunks(tenant, works)

    def _changed(self, work: Work) -> list[Chunk]:
        """Stored chunks whose vector is not that of what the embedder sees of them now."""
        known = work.known
        return [
            chunk
            for chunk in work.chunks
            if chunk.id in known and known[chunk.id].embedding_key != embedding_key(self._embedder.id, chunk)
        ]

    async def _embed(self, tenant: TenantId, part: Sequence[tuple[Work, Chunk]]) -> None:
        """Give these chunks their points, with as little embedding as can be."""
        keys = {chunk.id: embedding_key(self._embedder.id, chunk) for _, chunk in part}
        stored = await self._vectors.fetch(tenant, Collection.CHUNKS, list(keys), view=View(), with_vectors=True)
        vectors: dict[str, Vector] = {
            keys[ChunkId(point.id)]: point.vector
            for point in stored
            if point.vector is not None and point.payload.get("embedding_key") == keys[ChunkId(point.id)]
        }
        vectors |= await self._vectors_of_others(tenant, sorted(set(keys.values()) - vectors.keys()))
        texts = {key: embedding_text(chunk) for _, chunk in part if (key := keys[chunk.id]) not in vectors}
        if texts:
            embeddings = await self._embedder.embed(list(texts.values()))
            vectors |= dict(zip(texts, embeddings.vectors, strict=True))
            for work in {id(work): work for work, chunk in part if keys[chunk.id] in texts}.values():
                work.batches += 1
        points: list[Point] = [
            chunk_point(work.source, chunk, self._embedder.id, vectors[keys[chunk.id]])
            for work, chunk in part
            if work.source is not None
        ]
        await self._vectors.upsert(tenant, Collection.CHUNKS, points)

    async def _vectors_of_others(self, tenant: TenantId, keys: Sequence[str]) -> dict[str, Vector]:
        """Vectors that chunks of other sources of the tenant have under these keys."""
        if not keys:
            return {}
        holders = await self._catalogue.chunk_with_embedding(tenant, keys)
        if not holders:
            return {}
        stored = await self._vectors.fetch(
            tenant, Collection.CHUNKS, sorted(set(holders.values())), view=View(), with_vectors=True
        )
        vector_of = {point.id: point for point in stored}
        return {
            key: point.vector
            for key, holder in holders.items()
            if (point := vector_of.get(holder)) and point.vector is not None and point.payload["embedding_key"] == key
        }

    async def _place(self, tenant: TenantId, work: Work) -> None:
        """Bring the payloads of chunks that keep their vectors up to date."""
        if work.source is None or work.before is None or not self._is_changed(work):
            return
        known = work.known
        everything = source_payload_changed(work.before.source, work.source)
        rows = [
            (chunk.id, chunk_payload(work.source, chunk, self._embedder.id))
            for chunk in work.chunks
            if chunk.id in known and (everything or not is_same_place(known[chunk.id], chunk))
        ]
        if rows:
            await self._vectors.set_payload(tenant, Collection.CHUNKS, rows)

    def _is_changed(self, work: Work) -> bool:
        """Whether anything of the source or its chunks differs from what is stored."""
        if work.source is None or work.before is None:
            return work.before is not None or work.source is not None
        if replace(work.before.source, chunks=0) != replace(work.source, chunks=0) or work.gone:
            return True
        known = work.known
        return any(chunk.id not in known or not self._is_same(known[chunk.id], chunk) for chunk in work.chunks)

    def _is_same(self, stored: StoredChunk, chunk: Chunk) -> bool:
        return is_same_place(stored, chunk) and stored.embedding_key == embedding_key(self._embedder.id, chunk)

    async def _catalogue_chunks(self, tenant: TenantId, works: Sequence[Work]) -> None:
        # Readers first: the source's own row says what is still to do, should this process end in between.
        for work in works:
            if work.source and work.before and work.before.source.auth_subjects != work.source.auth_subjects:
                stayed = [chunk.id for chunk in work.chunks if chunk.id in work.known]
                await self._graph.move_chunks(tenant, stayed, work.source.auth_subjects)
                await self._sync.follow(tenant)
        writes = [
            SourceWrite(work.source, work.parsed, [self._stored(chunk) for chunk in work.chunks])
            for work in works
            if work.source is not None and self._is_changed(work)
        ]
        if writes:
            await self._catalogue.put_sources(tenant, writes)

    def _stored(self, chunk: Chunk) -> StoredChunk:
        return StoredChunk(
            id=chunk.id,
            index=chunk.index,
            start=chunk.start,
            end=chunk.end,
            content_hash=chunk.content_hash,
            title=chunk.title,
            headings=chunk.headings,
            page=chunk.page,
            preview=chunk.text[:PREVIEW_CHARS],
            embedding_key=embedding_key(self._embedder.id, chunk),
        )

    async def _index_graph(self, tenant: TenantId, works: Sequence[Work], control: RunControl) -> None:
        parts = [
            GraphWork(work.run, work.source, work.chunks, work.known, control)
            for work in works
            if work.source is not None
        ]
        for work, result in zip(
            (work for work in works if work.source is not None),
            await self._graph_builder.build(tenant, parts),
            strict=True,
        ):
            work.graph = result

    async def _prune(self, tenant: TenantId, works: Sequence[Work]) -> None:
        for work in works:
            if not work.gone:
                continue
            had_graph = any(work.known[chunk_id].extraction_key is not None for chunk_id in work.gone)
            change = await self._graph.remove_chunks(tenant, work.gone)
            work.graph = replace(work.graph, ran=work.graph.ran or had_graph, pruned=work.graph.pruned + change.pruned)
        deleted = [work.run.ref for work in works if work.source is None]
        if deleted:
            await self._catalogue.delete_sources(tenant, deleted)
        is_followed = any(work.graph.ran for work in works)  # the graph's step saw to all that was noted until then
        if deleted or any(work.gone for work in works) or not is_followed:
            await self._sync.follow(tenant)

    async def _record(self, tenant: TenantId, works: Sequence[Work], step: RunStep, control: RunControl) -> None:
        for work in works:
            state = RunState.CANCELLING if control.is_cancelled(work.run.id) else RunState.RUNNING
            work.run = replace(work.run, step=step, state=state)
        await self._ledger.record(tenant, [work.run for work in works])

    def _over(self, work: Work, elapsed_ms: int, control: RunControl) -> Run:
        """The run at its end. A cancelled one that had nothing left to leave out is done."""
        if work.withdrawn:
            return replace(work.run, state=RunState.CANCELLED)
        left_out = control.is_cancelled(work.run.id) and work.graph.failed_chunks > 0
        state = RunState.CANCELLED if left_out else RunState.DONE
        return replace(work.run, step=RunStep.DONE, state=state, result=self._result(work, elapsed_ms))

    def _result(self, work: Work, elapsed_ms: int) -> IndexResult:
        return IndexResult(
            written=work.written,
            removed=len(work.gone),
            batches=work.batches,
            elapsed_ms=elapsed_ms,
            model=self._embedder.id,
            freshness_met=work.freshness_met,
            graph=work.graph,
        )


def changed_source(source: Source, run: Run) -> Source:
    """A source with the fields that an UPDATE run sets."""
    change = run.change
    if change is None:
        return source
    return replace(
        source,
        auth_subjects=source.auth_subjects if change.auth_subjects is None else change.auth_subjects,
        metadata=source.metadata if change.metadata is None else change.metadata,
        graph=None if change.clear_graph else source.graph if change.graph is None else change.graph,
    )


def source_payload_changed(before: Source, after: Source) -> bool:
    """Whether what every chunk's payload repeats of its source differs."""
    return before.auth_subjects != after.auth_subjects or before.metadata != after.metadata


def is_same_place(stored: StoredChunk, chunk: Chunk) -> bool:
    """Whether a chunk stands where it stood, under the same title and headings."""
    before = (stored.index, stored.start, stored.end, stored.page, stored.title, stored.headings)
    return before == (chunk.index, chunk.start, chunk.end, chunk.page, chunk.title, chunk.headings)
