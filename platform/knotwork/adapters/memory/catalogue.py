"""Catalogue in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from knotwork.adapters.memory.database import ChunkRow, MemoryDatabase, TenantRows, matches, may_read
from knotwork.domain.catalogue import (
    UNKNOWN_FAILURE,
    ExtractionState,
    FailedChunk,
    SourceState,
    StoredChunk,
    TenantSettings,
)
from knotwork.domain.merge import merge_contributions
from knotwork.domain.model import ChunkId, ParsedText, Source, SourceRef, TenantId
from knotwork.errors import UnknownTenant
from knotwork.ports.catalogue import SourceWrite
from knotwork.ports.vector_store import View


class MemoryCatalogue:
    """Catalogue over a MemoryDatabase."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._tenants = database.tenants

    async def put_tenant(self, tenant: TenantId, settings: TenantSettings) -> None:
        rows = self._tenants[tenant]
        if rows.sources and rows.settings not in {None, settings}:
            rows.settings_due = True
        rows.settings = settings

    async def settings_due(self) -> list[TenantId]:
        return sorted(tenant for tenant, rows in self._tenants.items() if rows.settings_due)

    async def settings_followed(self, tenant: TenantId, settings: TenantSettings) -> None:
        if self._tenants[tenant].settings == settings:
            self._tenants[tenant].settings_due = False

    async def tenant(self, tenant: TenantId) -> TenantSettings:
        settings = self._tenants[tenant].settings
        if settings is None:
            raise UnknownTenant(tenant)
        return settings

    async def tenants(self) -> list[TenantId]:
        return sorted(tenant for tenant, rows in self._tenants.items() if rows.settings is not None)

    async def delete_tenant(self, tenant: TenantId) -> None:
        self._tenants.pop(tenant, None)

    async def source(self, tenant: TenantId, ref: SourceRef, *, view: View) -> Source | None:
        rows = self._tenants[tenant]
        source = rows.sources.get(ref)
        return _with_count(rows, source) if source and _is_visible(source, view) else None

    async def sources(
        self, tenant: TenantId, *, view: View, after: SourceRef | None = None, limit: int = 100
    ) -> list[Source]:
        rows = self._tenants[tenant]
        refs = [ref for ref in sorted(rows.sources) if after is None or ref > after]
        visible = [rows.sources[ref] for ref in refs if _is_visible(rows.sources[ref], view)]
        return [_with_count(rows, source) for source in visible[:limit]]

    async def text(self, tenant: TenantId, ref: SourceRef) -> ParsedText | None:
        return self._tenants[tenant].texts.get(ref)

    async def states(self, tenant: TenantId, refs: Sequence[SourceRef]) -> Mapping[SourceRef, SourceState]:
        rows = self._tenants[tenant]
        return {
            ref: SourceState(_with_count(rows, rows.sources[ref]), _chunks_of(rows, ref))
            for ref in refs
            if ref in rows.sources
        }

    async def put_sources(self, tenant: TenantId, writes: Sequence[SourceWrite]) -> None:
        rows = self._tenants[tenant]
        for write in writes:
            source = replace(write.source, auth_subjects=tuple(sorted(set(write.source.auth_subjects))))
            rows.sources[source.ref] = source
            if write.parsed is not None:
                rows.texts[source.ref] = write.parsed
            for chunk in write.chunks:
                bare = replace(chunk, extraction_key=None, extraction_state=ExtractionState.NONE)
                row = rows.chunks.setdefault(chunk.id, ChunkRow(source.ref, bare, source.auth_subjects))
                row.chunk = bare

    async def delete_sources(self, tenant: TenantId, refs: Sequence[SourceRef]) -> None:
        for ref in refs:
            self._tenants[tenant].sources.pop(ref, None)
            self._tenants[tenant].texts.pop(ref, None)

    async def chunk_with_embedding(self, tenant: TenantId, keys: Sequence[str]) -> Mapping[str, ChunkId]:
        found: dict[str, ChunkId] = {}
        for id_, row in sorted(self._tenants[tenant].chunks.items()):
            if row.chunk.embedding_key in keys:
                found.setdefault(row.chunk.embedding_key, id_)
        return found

    async def set_embedding_keys(self, tenant: TenantId, keys: Mapping[ChunkId, str]) -> None:
        rows = self._tenants[tenant]
        for id_ in keys.keys() & rows.chunks.keys():
            rows.chunks[id_].chunk = replace(rows.chunks[id_].chunk, embedding_key=keys[id_])

    async def held_chunks(self, tenant: TenantId, ids: Sequence[ChunkId]) -> set[ChunkId]:
        rows = self._tenants[tenant]
        return {id_ for id_ in ids if id_ in rows.chunks and rows.chunks[id_].source in rows.sources}

    async def counts(self, tenant: TenantId) -> Mapping[str, int]:
        rows = self._tenants[tenant]
        merged = merge_contributions(evidence.contribution for _, evidence in rows.evidence(View()))
        return {
            "sources": len(rows.sources),
            "chunks": len(rows.chunks),
            "entities": len(merged.entities),
            "relationships": len(merged.relationships),
        }

    async def failed_chunks(
        self, tenant: TenantId, *, view: View, after: ChunkId | None = None, limit: int = 100
    ) -> list[FailedChunk]:
        found = [
            FailedChunk(row.chunk.id, row.source, row.chunk.index, row.attempts, evidence.failure or UNKNOWN_FAILURE)
            for row, evidence in self._tenants[tenant].evidence(View())
            if evidence.state is ExtractionState.FAILED
            and (after is None or row.chunk.id > after)
            and _is_visible(self._tenants[tenant].sources[row.source], view)
        ]
        return found[:limit]


def _is_visible(source: Source, view: View) -> bool:
    return may_read(source.auth_subjects, view) and matches(source, view.filter)


def _with_count(rows: TenantRows, source: Source) -> Source:
    return replace(source, chunks=sum(row.source == source.ref for row in rows.chunks.values()))


def _chunks_of(rows: TenantRows, ref: SourceRef) -> tuple[StoredChunk, ...]:
    chunks = [_with_evidence(row) for row in rows.chunks.values() if row.source == ref]
    return tuple(sorted(chunks, key=lambda chunk: (chunk.index, chunk.id)))


def _with_evidence(row: ChunkRow) -> StoredChunk:
    if row.evidence is None:
        return row.chunk
    return replace(row.chunk, extraction_key=row.evidence.extraction_key, extraction_state=row.evidence.state)
