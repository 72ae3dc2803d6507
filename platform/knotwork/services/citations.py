"""Citations: a chunk by its id, checked against the stored text of its source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from knotwork.domain.model import ChunkId, Passage
from knotwork.domain.retrieval import Reader
from knotwork.errors import NotFound
from knotwork.ports.catalogue import Catalogue
from knotwork.ports.vector_store import Collection, VectorStore, View
from knotwork.services.passages import passage_from


@dataclass(frozen=True, slots=True)
class Citation:
    """A passage, and whether its text stands in the source's stored text where it says."""

    passage: Passage
    verified: bool


class Citations:
    """Resolves what answers cite."""

    def __init__(self, *, catalogue: Catalogue, vectors: VectorStore) -> None:
        self._catalogue, self._vectors = catalogue, vectors

    async def get(self, reader: Reader, chunk_id: ChunkId) -> Citation:
        """The chunk, if this reader may see it.

        Raises:
            NotFound: there is no such chunk for this reader.
        """
        points = await self._vectors.fetch(reader.tenant, Collection.CHUNKS, [chunk_id], view=View(reader.subjects))
        if not points:
            raise NotFound("chunk", chunk_id)
        passage = passage_from(chunk_id, points[0].payload, 1.0)
        parsed = await self._catalogue.text(reader.tenant, passage.source) if passage.source else None
        start, end = cast("tuple[int, int]", (passage.metadata["start"], passage.metadata["end"]))
        return Citation(passage, verified=parsed is not None and parsed.text[start:end] == passage.text)
