"""The vectors of an import: those that came along in a file beside the export, or else the embedder's."""

from __future__ import annotations

import binascii
import math
import struct
from collections.abc import AsyncIterator, Sequence

from knotwork.domain.export import Record, from_line, place
from knotwork.domain.export_reading import require_vector_header
from knotwork.domain.inputs import embedding_key, embedding_text, entity_text, relationship_text
from knotwork.domain.model import Chunk, EntityId, RelationshipId, Vector
from knotwork.errors import ExportDamaged
from knotwork.ports.models import Embedder
from knotwork.services.export import unpacked


class SideFile:
    """The vectors that come with an export, joined to its records by their common order."""

    def __init__(self, lines: AsyncIterator[bytes] | None, embedder: Embedder) -> None:
        self._lines, self._embedder = lines, embedder
        self._next: Record | None = None

    async def open(self) -> None:
        """Read the header; vectors of another embedder are of no use."""
        if self._lines is None:
            return
        line = await anext(self._lines, None)
        header = from_line(line) if line else {}
        require_vector_header(header)
        if header.get("embedder") != self._embedder.id:
            self._lines = None

    async def find(self, kind: str, id_: str) -> Record | None:
        """The vector's line of this thing; asked in the order of the export."""
        wanted = place({"kind": kind, "id": id_})
        while self._lines is not None:
            if self._next is None:
                line = await anext(self._lines, None)
                if line is None:
                    return None
                self._next = from_line(line)
            at = place(self._next)
            if at > wanted:
                return None
            found, self._next = self._next, None
            if at == wanted:
                return found
        return None


class Load:
    """Counts of one import, and where its vectors come from."""

    def __init__(self, embedder: Embedder, side: SideFile) -> None:
        self._embedder, self._side = embedder, side
        self.sources = self.chunks = self.embedded = 0

    async def vectors_of_chunks(self, chunks: Sequence[Chunk]) -> list[Vector]:
        return await self._vectors(
            "chunk",
            [chunk.id for chunk in chunks],
            [embedding_text(chunk) for chunk in chunks],
            [embedding_key(self._embedder.id, chunk) for chunk in chunks],
        )

    async def vectors_of_entities(self, ids: Sequence[EntityId]) -> dict[EntityId, Vector]:
        found = await self._vectors("entity", ids, [entity_text(id_) for id_ in ids], [None] * len(ids))
        return dict(zip(ids, found, strict=True))

    async def vectors_of_relationships(self, ids: Sequence[RelationshipId]) -> dict[RelationshipId, Vector]:
        found = await self._vectors("relationship", ids, [relationship_text(id_) for id_ in ids], [None] * len(ids))
        return dict(zip(ids, found, strict=True))

    async def _vectors(
        self, kind: str, ids: Sequence[str], texts: Sequence[str], keys: Sequence[str | None]
    ) -> list[Vector]:
        """A vector each: the one that came along where it was made of the same, else the embedder's."""
        vectors: list[Vector | None] = []
        for id_, key in zip(ids, keys, strict=True):
            line = await self._side.find(kind, id_)
            vectors.append(self._vector(line) if line and line.get("key") == key else None)
        due = list(dict.fromkeys(text for text, vector in zip(texts, vectors, strict=True) if vector is None))
        made: dict[str, Vector] = {}
        if due:
            self.embedded += len(due)
            made = dict(zip(due, (await self._embedder.embed(due)).vectors, strict=True))
        return [made[text] if vector is None else vector for text, vector in zip(texts, vectors, strict=True)]

    def _vector(self, line: Record) -> Vector:
        """The vector of a line of the side file.

        Raises:
            ExportDamaged: it is none, or not one of this embedder.
        """
        try:
            vector = unpacked(line["vector"])
        except (KeyError, TypeError, ValueError, binascii.Error, struct.error):
            vector = []
        if len(vector) != self._embedder.dimension or not math.isfinite(sum(vector)):
            raise ExportDamaged(f"the vector of {line['id']!r} is damaged; import without the vectors, or export again")
        return vector
