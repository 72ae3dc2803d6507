"""Points and filters in the classes of qdrant-client, in batches that a server's body limit accepts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from qdrant_client import models

from knotwork.adapters.qdrant.mapping import (
    BM25,
    DENSE,
    Condition,
    HasAny,
    InNumbers,
    as_vector,
    point_key,
    point_terms,
    to_payload,
)
from knotwork.domain.model import TenantId
from knotwork.ports.vector_store import Point

T = TypeVar("T")
BATCH_ITEMS = 500
BATCH_BYTES = 8_000_000  # of JSON; a server refuses bodies over 32 MB unless told otherwise
_NUMBER_BYTES = 24  # a float in JSON, at most
_TERM_BYTES = 36  # an index and a weight; two characters of text make a term, at most


def server_point(tenant: TenantId, point: Point, *, collection: str, dimension: int) -> models.PointStruct:
    vectors: dict[str, models.Vector] = {DENSE: as_vector(point.vector, collection=collection, dimension=dimension)}
    if terms := point_terms(point):
        vectors[BM25] = sparse_vector(terms)
    return models.PointStruct(
        id=point_key(tenant, point.id), vector=vectors, payload=to_payload(tenant, point.id, point.payload)
    )


def sparse_vector(terms: dict[int, float]) -> models.SparseVector:
    return models.SparseVector(indices=list(terms), values=list(terms.values()))


def batches(items: Sequence[T], size_bytes: Callable[[T], int]) -> Iterator[list[T]]:
    """The items in runs of at most BATCH_ITEMS and, but for one that is larger alone, at most BATCH_BYTES."""
    batch: list[T] = []
    total = 0
    for item in items:
        size = size_bytes(item)
        if batch and (len(batch) == BATCH_ITEMS or total + size > BATCH_BYTES):
            yield batch
            batch, total = [], 0
        batch.append(item)
        total += size
    if batch:
        yield batch


def point_bytes(point: Point) -> int:
    """Bytes of the point in a request, from above."""
    text = point.keyword_text or ""
    return payload_bytes(point.payload) + _NUMBER_BYTES * len(point.vector) + _TERM_BYTES * len(text) // 2


def payload_bytes(payload: Mapping[str, object]) -> int:
    """Bytes of a stored payload in a request, from above: facets repeat the metadata."""
    return 2 * len(json.dumps(payload, default=str))


def server_filter(conditions: Sequence[Condition], keys: Sequence[str] | None = None) -> models.Filter:
    """All of the conditions; with `keys`, only points of these keys."""
    must: list[models.Condition] = [_field(condition) for condition in conditions]
    if keys is not None:
        must.append(models.HasIdCondition(has_id=list(keys)))
    return models.Filter(must=must)


def range_schema(condition: Condition) -> models.FloatIndexParams | models.DatetimeIndexParams | None:
    """How to index the field of a bound."""
    if isinstance(condition, HasAny):
        return None
    if isinstance(condition, InNumbers):
        return models.FloatIndexParams(type=models.FloatIndexType.FLOAT, enable_hnsw=False)
    return models.DatetimeIndexParams(type=models.DatetimeIndexType.DATETIME, enable_hnsw=False)


def _field(condition: Condition) -> models.FieldCondition:
    if isinstance(condition, HasAny):
        return models.FieldCondition(key=condition.key, match=models.MatchAny(any=list(condition.values)))
    if isinstance(condition, InNumbers):
        return models.FieldCondition(key=condition.key, range=models.Range(gte=condition.gte, lte=condition.lte))
    bounds = models.DatetimeRange.model_validate({"gte": condition.gte, "lte": condition.lte})
    return models.FieldCondition(key=condition.key, range=bounds)
