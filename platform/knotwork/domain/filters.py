"""Filters over sources: field → value, list (any of) or {gte, lte}."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from knotwork.domain.normalise import clean_text
from knotwork.errors import InvalidInput

Scalar: TypeAlias = str | int | float | bool

INTEGERS = range(-(2**63), 2**63)  # what both stores keep
SOURCE_FIELDS = ("source_type", "source_id")
METADATA_FIELD = re.compile(r"metadata\.[^\s.\[\]\"\\]{1,64}")


@dataclass(frozen=True, slots=True)
class AnyOf:
    """The field's value, or one of its values where it is a list, is one of these."""

    field: str
    values: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class Between:
    """The field's value lies in [gte, lte]; numbers, or ISO 8601 dates as strings. None: no bound."""

    field: str
    gte: float | str | None = None
    lte: float | str | None = None


@dataclass(frozen=True, slots=True)
class Filter:
    """All conditions must hold. Fields: source_type, source_id, metadata.<name>."""

    conditions: tuple[AnyOf | Between, ...] = ()


def parse_filter(raw: Mapping[str, object]) -> Filter:
    """Read the public form of a filter; a bare field that is not of the source is one of its metadata.

    Raises:
        InvalidInput: an unknown field or operator, or a value of no use.
    """
    return Filter(tuple(_condition(name, value) for name, value in sorted(raw.items())))


def checked_scalar(name: str, value: object) -> str | int | float | bool:
    """A value that both stores keep and compare.

    Raises:
        InvalidInput: it is of another kind, not finite, or an integer beyond 64 bits.
    """
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and value in INTEGERS:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise InvalidInput(
        f"the value of {clean_text(name)!r} cannot be used; give a string, a finite 64-bit number or true/false"
    )


def _condition(name: str, value: object) -> AnyOf | Between:
    field = name if name in SOURCE_FIELDS or name.startswith("metadata.") else f"metadata.{name}"
    if field not in SOURCE_FIELDS and (not METADATA_FIELD.fullmatch(field) or clean_text(field) != field):
        raise InvalidInput(
            f"filter field {clean_text(name)!r} is unknown; use source_type, source_id or metadata.<name>"
        )
    if isinstance(value, Mapping):
        return _between(field, cast("Mapping[str, object]", value))
    values: Sequence[object] = cast("Sequence[object]", value) if isinstance(value, list | tuple) else [value]
    return AnyOf(field, tuple(checked_scalar(name, item) for item in values))


def _between(field: str, bounds: Mapping[str, object]) -> Between:
    unknown = sorted(set(bounds) - {"gte", "lte"})
    if unknown or not bounds:
        raise InvalidInput(f"filter on {field!r}: unknown operator {unknown or 'none'}; use gte and lte")
    for bound in bounds.values():
        checked_scalar(field, bound)
        if isinstance(bound, bool) or not isinstance(bound, int | float | str):
            raise InvalidInput(f"filter on {field!r}: a bound is a number or an ISO 8601 date")
    if len({isinstance(bound, str) for bound in bounds.values()}) > 1:
        raise InvalidInput(f"filter on {field!r}: both bounds are numbers or both are dates")
    return Between(field, cast("float | str | None", bounds.get("gte")), cast("float | str | None", bounds.get("lte")))
