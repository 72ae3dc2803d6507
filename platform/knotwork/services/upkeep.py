"""What a tenant's operators look after: chunks that could not be read."""

from __future__ import annotations

from collections.abc import Sequence

from knotwork.domain.catalogue import FailedChunk, Run
from knotwork.domain.model import ChunkId, Source, SourceRef, TenantId
from knotwork.domain.retrieval import Reader
from knotwork.ports.catalogue import Catalogue
from knotwork.ports.vector_store import View
from knotwork.services.intake import Intake

PAGE = 1000  # rows looked at together


class Upkeep:
    """Finds what is not as it should be, within what a reader may see, and has it done again."""

    def __init__(self, *, catalogue: Catalogue, intake: Intake) -> None:
        self._catalogue, self._intake = catalogue, intake

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

    async def _sources(self, tenant: TenantId, refs: set[SourceRef]) -> Sequence[Source]:
        found = [await self._catalogue.source(tenant, ref, view=View()) for ref in sorted(refs)]
        return [source for source in found if source is not None]  # None: deleted meanwhile
