"""Points, payloads and views in the terms that Qdrant's engine and server share.

A stored payload is the caller's, and three keys of ours: `tenant`, `id` (the public id) and `facets`, one keyword
`name=value` for each value of `metadata`. One keyword index over `facets` answers every filter for equality, whatever
the field is called and whether its value is text, number or true/false: 0.14 ms at 20,000 points, where a condition on
an unindexed metadata field took 24 ms and Edge cannot match a boolean at all. Bounds are asked of `metadata` itself.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from hashlib import blake2b
from typing import TypeAlias, cast
from uuid import UUID

from knotwork.domain.bm25 import document_terms
from knotwork.domain.filters import AnyOf, Between, Scalar
from knotwork.domain.ids import point_id
from knotwork.domain.model import TenantId, Vector
from knotwork.errors import DimensionMismatch, InvalidInput, SetupFailed
from knotwork.ports.vector_store import Collection, Point, View

DENSE = "dense"
BM25 = "bm25"
KEYWORD_FIELDS = ("tenant", "subjects", "source_type", "source_id", "facets")
SCAN_PAGE = 1000  # points looked at together when all are
RANGE_INDEXES = 32  # fields of a collection that get an index for bounds; one more is scanned

_OURS = ("tenant", "id", "facets")
_SURROGATES = re.compile("[\ud800-\udfff]")
_UNSAFE = re.compile(r"[^a-z0-9.-]+")
_NAME_LENGTH = 80


@dataclass(frozen=True, slots=True)
class HasAny:
    """The payload's field, or one of its values where it is a list, is one of these words."""

    key: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class InNumbers:
    """The payload's number lies in [gte, lte]; `key` is a JSON path."""

    key: str
    gte: float | None
    lte: float | None


@dataclass(frozen=True, slots=True)
class InTimes:
    """The payload's date lies in [gte, lte]; bounds are RFC 3339, `key` is a JSON path."""

    key: str
    gte: str | None
    lte: str | None


Condition: TypeAlias = HasAny | InNumbers | InTimes


def physical_name(collection: Collection, model: str, dimension: int) -> str:
    """The name under which the points of one embedding model are kept, fit for a file system and a URL.

    A model whose name had to be changed gets a hash of it, so that two models never share points.
    """
    safe = _UNSAFE.sub("-", model.lower())[:_NAME_LENGTH].strip("-.")
    if safe != model:
        safe = f"{safe}-{blake2b(clean(model).encode(), digest_size=4).hexdigest()}"
    return f"{collection.value}__{safe}_{dimension}"


def other_model(collection: str, stored: str, configured: str) -> SetupFailed:
    """The refusal to mix the vectors of two embedding models."""
    return SetupFailed(
        f"collection {collection!r} was filled by the embedding model {stored!r}, configured is {configured!r}; "
        "configure the model that filled it, and name this one in KNOTWORK_NEXT_EMBEDDING_* to change over, or start "
        "with an empty store (KNOTWORK_HOME, KNOTWORK_QDRANT_URL) and ingest again"
    )


def own_model(model: str) -> SetupFailed:
    """The refusal to fill a successor with the model whose points are stored: both would be the same files."""
    return SetupFailed(f"the stored vectors are of {model!r} already; there is nothing to change over to")


def point_key(tenant: TenantId, id_: str) -> str:
    """The key of a point: the id that Qdrant knows it by."""
    return point_id(TenantId(clean(tenant)), clean(id_))


def stray_id(tenant: TenantId, key: str, payload: Mapping[str, object] | None) -> str | None:
    """The public id of a point that is not stored under its own key; None when it is."""
    id_ = str((payload or {}).get("id", ""))
    return None if key == point_key(tenant, id_) else id_ or key


def scroll_cursor(after: str | None) -> str | None:
    """The cursor of a page, checked.

    Raises:
        InvalidInput: it is none that `scroll` gave.
    """
    try:
        return None if after is None else str(UUID(after))
    except ValueError as error:
        raise InvalidInput(f"{after!r} is no cursor; pass on the one that came with the page before") from error


def to_payload(tenant: TenantId, id_: str, payload: Mapping[str, object]) -> dict[str, object]:
    """The payload as stored. Lone surrogates become U+FFFD and NUL is dropped, as in ids.

    Raises:
        InvalidInput: a number is not finite; JSON has no such value.
    """
    return {**changed_payload(payload), "tenant": clean(tenant), "id": clean(id_)}


def changed_payload(payload: Mapping[str, object]) -> dict[str, object]:
    """Keys to set on a stored payload; tenant and id of a point never change."""
    stored = {clean(key): _clean_json(value) for key, value in payload.items() if key not in _OURS}
    if "metadata" in stored:
        stored["facets"] = _facets(cast("Mapping[str, object]", stored["metadata"] or {}))
    return stored


def from_payload(payload: Mapping[str, object] | None) -> tuple[str, dict[str, object]]:
    """The public id and the caller's payload."""
    stored = payload or {}
    return str(stored["id"]), {key: value for key, value in stored.items() if key not in _OURS}


def point_terms(point: Point) -> dict[int, float]:
    """The terms that keyword search knows a point by: of its text, and of its title and headings for themselves."""
    if point.keyword_text is None:
        return {}
    headings = cast("Sequence[str]", point.payload.get("headings") or ())
    return document_terms(point.keyword_text, "\n".join([str(point.payload.get("title") or ""), *headings]))


def conditions(tenant: TenantId, view: View) -> list[Condition]:
    """What must hold of a point for this caller to see it.

    Raises:
        InvalidInput: a bound is text, but no ISO 8601 date.
    """
    found: list[Condition] = [HasAny("tenant", (clean(tenant),))]
    if view.subjects is not None:
        found.append(HasAny("subjects", tuple(clean(subject) for subject in view.subjects)))
    asked = view.filter.conditions if view.filter else ()
    return found + [_any_of(each) if isinstance(each, AnyOf) else _between(each) for each in asked]


def clean(text: str) -> str:
    """Text that every store accepts: lone surrogates become U+FFFD, NUL is dropped."""
    if text.isascii():
        return text.replace("\0", "")
    return _SURROGATES.sub("\ufffd", text).replace("\0", "")


def as_vector(vector: Vector, *, collection: str, dimension: int) -> list[float]:
    """The vector as a list of floats.

    Raises:
        DimensionMismatch: it is of another dimension than the collection.
    """
    if len(vector) != dimension:
        raise DimensionMismatch(collection=collection, stored=dimension, configured=len(vector))
    return [float(x) for x in vector]


def _any_of(condition: AnyOf) -> HasAny:
    if condition.field.startswith("metadata."):
        name = condition.field.removeprefix("metadata.")
        return HasAny("facets", tuple(_facet(clean(name), value) for value in condition.values))
    # ids and types of sources are text: a number equals none of them
    return HasAny(condition.field, tuple(clean(value) for value in condition.values if isinstance(value, str)))


def _between(condition: Between) -> InNumbers | InTimes:
    key = condition.field
    if key.startswith("metadata."):
        key = (
            f'metadata."{key.removeprefix("metadata.")}"'  # quoted: a name may hold any sign but quotes, dots, brackets
        )
    gte, lte = condition.gte, condition.lte
    if isinstance(gte, str) or isinstance(lte, str):
        return InTimes(
            key,
            None if gte is None else _moment(condition.field, str(gte), time.min),
            None if lte is None else _moment(condition.field, str(lte), time.max),
        )
    return InNumbers(key, gte, lte)


def _moment(field: str, text: str, of_day: time) -> str:
    """A bound in RFC 3339; a day without a time means all of it, a time without a zone is UTC."""
    try:
        if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
            moment = datetime.combine(date.fromisoformat(text), of_day)
        else:
            moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidInput(f"filter on {field!r}: bound {text!r} is no ISO 8601 date; write 2024-05-31") from error
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).isoformat()


def _facets(metadata: Mapping[str, object]) -> list[str]:
    return sorted({_facet(name, value) for name, values in metadata.items() for value in _scalars(values)})


def _facet(name: str, value: Scalar) -> str:
    if isinstance(value, str):
        return f"{name}={json.dumps(clean(value), ensure_ascii=False)}"
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # 2020 and 2020.0 are one number
    return f"{name}={json.dumps(value)}"


def _scalars(value: object) -> Iterator[Scalar]:
    if isinstance(value, str | int | float | bool):
        yield value
    elif isinstance(value, Sequence):
        yield from (item for item in cast("Sequence[object]", value) if isinstance(item, str | int | float | bool))


def _clean_json(value: object) -> object:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {clean(str(key)): _clean_json(item) for key, item in cast("Mapping[object, object]", value).items()}
    if isinstance(value, list | tuple):
        return [_clean_json(item) for item in cast("Sequence[object]", value)]
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInput(f"a payload holds {value}, which is no JSON number; leave the field out")
    return value
