"""The catalogue: tenants, their sources with text, and the chunks of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from knotwork.domain.catalogue import FailedChunk, SourceState, StoredChunk, TenantSettings
from knotwork.domain.model import ChunkId, ParsedText, Source, SourceRef, TenantId
from knotwork.ports.vector_store import View


@dataclass(frozen=True, slots=True)
class SourceWrite:
    """A source to be written; `parsed` None keeps the stored text."""

    source: Source
    parsed: ParsedText | None
    chunks: Sequence[StoredChunk]


class Catalogue(Protocol):
    """Tenants, sources and chunks. Every method raises StoreUnavailable when the store does not answer."""

    async def put_tenant(self, tenant: TenantId, settings: TenantSettings) -> None:
        """Create the tenant, or replace its settings; where it has sources, they are due to follow a change."""
        ...

    async def settings_due(self) -> list[TenantId]:
        """The tenants whose sources are due to follow a change of settings, sorted."""
        ...

    async def settings_followed(self, tenant: TenantId, settings: TenantSettings) -> None:
        """Every source follows these settings, or a run will see to it; says nothing of settings made since."""
        ...

    async def tenant(self, tenant: TenantId) -> TenantSettings:
        """Raises: UnknownTenant."""
        ...

    async def tenants(self) -> list[TenantId]:
        """All tenants, sorted."""
        ...

    async def delete_tenant(self, tenant: TenantId) -> None:
        """Remove the tenant and every row of it; a tenant that is not there is passed over."""
        ...

    async def source(self, tenant: TenantId, ref: SourceRef, *, view: View) -> Source | None:
        """The source, if there is one and the view shows it."""
        ...

    async def sources(
        self, tenant: TenantId, *, view: View, after: SourceRef | None = None, limit: int = 100
    ) -> list[Source]:
        """A page of the visible sources after `after`, by (type, id)."""
        ...

    async def text(self, tenant: TenantId, ref: SourceRef) -> ParsedText | None:
        """The stored text of a source."""
        ...

    async def states(self, tenant: TenantId, refs: Sequence[SourceRef]) -> Mapping[SourceRef, SourceState]:
        """The sources of these names that exist, each with its chunks in order."""
        ...

    async def put_sources(self, tenant: TenantId, writes: Sequence[SourceWrite]) -> None:
        """Write sources with their texts and chunks, all in one transaction.

        Chunks new under their id are created without evidence; known ones get position, title, headings, page and
        embedding key, and keep their evidence and readers. Chunks of a source that are not named stay until
        `GraphStore.remove_chunks`. Writing the same again changes nothing.
        """
        ...

    async def delete_sources(self, tenant: TenantId, refs: Sequence[SourceRef]) -> None:
        """Remove sources and their texts. Their chunks must be gone (`GraphStore.remove_chunks`)."""
        ...

    async def chunk_with_embedding(self, tenant: TenantId, keys: Sequence[str]) -> Mapping[str, ChunkId]:
        """For each embedding key that a stored chunk has: one such chunk, the first by id."""
        ...

    async def set_embedding_keys(self, tenant: TenantId, keys: Mapping[ChunkId, str]) -> None:
        """Give stored chunks these embedding keys; unknown chunks are passed over."""
        ...

    async def held_chunks(self, tenant: TenantId, ids: Sequence[ChunkId]) -> set[ChunkId]:
        """Those of these chunks that a source holds."""
        ...

    async def counts(self, tenant: TenantId) -> Mapping[str, int]:
        """How many sources, chunks, entities and relationships the tenant has."""
        ...

    async def failed_chunks(
        self, tenant: TenantId, *, view: View, after: ChunkId | None = None, limit: int = 100
    ) -> list[FailedChunk]:
        """A page of the chunks of visible sources whose extraction failed, by chunk id, after `after`."""
        ...
