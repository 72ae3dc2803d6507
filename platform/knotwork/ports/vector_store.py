"""Vectors: chunks, entities, relationships and communities as points of a vector engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from knotwork.domain.filters import Filter
from knotwork.domain.model import Subject, TenantId, Vector


class Collection(StrEnum):
    """What is kept as points. Only chunks have text for keyword search."""

    CHUNKS = "chunks"
    ENTITIES = "entities"
    RELATIONSHIPS = "relationships"
    COMMUNITIES = "communities"


@dataclass(frozen=True, slots=True)
class Point:
    """A row of a collection.

    `id` is the public id of the thing (chunk, entity ...), unique within tenant and collection. `payload` is flat
    JSON but for `metadata`, a flat map; `subjects` in it lists who may read the row. `keyword_text` is what BM25 reads.
    """

    id: str
    vector: Vector
    payload: Mapping[str, object]
    keyword_text: str | None = None


@dataclass(frozen=True, slots=True)
class StoredPoint:
    id: str
    payload: Mapping[str, object]
    vector: Vector | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """A point found, with its score: cosine in [-1, 1] or BM25 ≥ 0."""

    id: str
    score: float
    payload: Mapping[str, object] = field(default_factory=dict[str, object])


@dataclass(frozen=True, slots=True)
class View:
    """What a caller may see, applied inside the store before the cut.

    `subjects` None is the operator: every row of the tenant. Otherwise a row is visible when its `subjects` hold one
    of them; callers put EVERYONE in. `filter` reads `source_type`, `source_id` and `metadata.<field>` of the payload.
    """

    subjects: tuple[Subject, ...] | None = None
    filter: Filter | None = None


class VectorStore(Protocol):
    """Points by tenant and collection. A call that returned is visible to the next; `flush` makes it durable."""

    async def prepare(self, *, model: str, dimension: int) -> None:
        """Create the collections of this embedding model once, safely when several processes start together.

        Raises:
            DimensionMismatch: the collections exist with another dimension.
            SetupFailed: they exist with another model of the same dimension.
        """
        ...

    async def holds(self, *, model: str, dimension: int) -> bool:
        """Whether the collections exist, and are of this embedding model."""
        ...

    async def successor(self, *, model: str, dimension: int) -> VectorStore:
        """A store of another embedding model's points, as filled so far, that takes this one's place in `promote`.

        What this store deletes is deleted there too; all else is the caller's to write. It is closed with this one.

        Raises:
            SetupFailed: this store holds that model's points itself.
        """
        ...

    async def promote(self) -> None:
        """Go on with the successor's points, in all collections at once, for good; the present ones are dropped.

        No call may be under way. After a crash it is done for all collections, or for none.

        Raises:
            SetupFailed: there is no successor.
        """
        ...

    async def drop_successor(self) -> None:
        """Remove what was filled for another model and did not take this one's place, if anything was."""
        ...

    async def upsert(self, tenant: TenantId, collection: Collection, points: Sequence[Point]) -> None:
        """Write points, replacing those of the same id; any number (batching is the adapter's)."""
        ...

    async def set_payload(
        self, tenant: TenantId, collection: Collection, rows: Sequence[tuple[str, Mapping[str, object]]]
    ) -> None:
        """Set these payload keys of these points, keep their other keys and vectors; unknown ids are passed over."""
        ...

    async def delete(self, tenant: TenantId, collection: Collection, ids: Sequence[str]) -> None:
        """Remove points; unknown ids are passed over."""
        ...

    async def fetch(
        self, tenant: TenantId, collection: Collection, ids: Sequence[str], *, view: View, with_vectors: bool = False
    ) -> list[StoredPoint]:
        """The points of these ids that the view shows, in the order of `ids`, each once."""
        ...

    async def scroll(
        self,
        tenant: TenantId,
        collection: Collection,
        *,
        view: View,
        after: str | None,
        limit: int,
        with_vectors: bool = False,
    ) -> tuple[list[StoredPoint], str | None]:
        """A page of points in a fixed order, and the cursor of the next (None: the last page)."""
        ...

    async def strays(self, tenant: TenantId, collection: Collection, *, remove: bool = False) -> list[str]:
        """Ids of points marked as the tenant's that stand under a key of another tenant or id; there should be none.

        They are found by searches, but never by `fetch`. With `remove` they are removed, whoever's place they take.
        """
        ...

    async def count(self, tenant: TenantId, collection: Collection, *, view: View) -> int: ...

    async def search_dense(
        self,
        tenant: TenantId,
        collection: Collection,
        vector: Vector,
        *,
        view: View,
        limit: int,
        min_score: float | None = None,
        with_payload: bool = True,
    ) -> list[Hit]:
        """The `limit` most similar visible points with score ≥ min_score, best first, ties by id.

        Exact up to 100,000 visible points; ties at the cut are fetched and broken by id. Without `with_payload`
        hits have an empty payload, which costs less: for callers that need ids and scores alone.
        """
        ...

    async def search_keyword(
        self,
        tenant: TenantId,
        query: str,
        *,
        view: View,
        limit: int,
        min_score: float | None = None,
        by_outline: bool = False,
        with_payload: bool = True,
    ) -> list[Hit]:
        """BM25 over chunks, best first, ties by id; statistics are of the visible points alone. Only hits > 0.

        With `by_outline` it reads `title` and `headings` of the payload, and the text only between equals of those.
        Without `with_payload` hits have an empty payload.
        """
        ...

    async def drop_tenant(self, tenant: TenantId) -> None: ...

    async def flush(self) -> None:
        """Return once everything written before is on disk."""
        ...

    async def close(self) -> None: ...
