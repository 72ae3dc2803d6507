"""Values that options carry: `key=value` pairs and conditions of a filter."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

import typer

BOUNDS = {">=": "gte", "<=": "lte"}


def parse_metadata(pairs: Sequence[str]) -> dict[str, Any]:
    """`key=text` and `key:=JSON` as one object; a later pair wins.

    Text stays text (`version=1.10` is no number); `year:=2024`, `draft:=true` and `tags:=["a","b"]` say more.

    Raises:
        typer.BadParameter: a pair is of neither form.
    """
    found: dict[str, Any] = {}
    for pair in pairs:
        key, value = _split(pair)
        found[key] = value
    return found


def parse_filter_options(conditions: Sequence[str]) -> dict[str, Any]:
    """Conditions that must all hold, in the form that the service reads.

    `field=text` and `field:=JSON` are equality, and the same field again is one more value to match; `field>=x` and
    `field<=x` are bounds, of numbers where x is one, else of ISO 8601 dates.

    Raises:
        typer.BadParameter: a condition is of no such form, or a field has both values and bounds.
    """
    values: dict[str, list[Any]] = {}
    bounds: dict[str, dict[str, float | str]] = {}
    for condition in conditions:
        found = next((sign for sign in BOUNDS if sign in condition.partition("=")[0] + "="), None)
        if found is not None:
            field, _, bound = condition.partition(found)
            bounds.setdefault(_named(field, condition), {})[BOUNDS[found]] = _number_or_text(bound)
            continue
        field, value = _split(condition)
        values.setdefault(field, []).extend(cast("list[Any]", value) if isinstance(value, list) else [value])
    if both := sorted(values.keys() & bounds.keys()):
        raise typer.BadParameter(f"{both[0]!r} has both values and bounds; give one kind")
    return {field: found[0] if len(found) == 1 else found for field, found in values.items()} | dict[str, Any](bounds)


def parse_weights(pair: str) -> dict[str, float]:
    """`S:K`, what meaning and words weigh, in the form that the service reads.

    Raises:
        typer.BadParameter: it is no pair of numbers.
    """
    try:
        semantic, keyword = (float(part) for part in pair.split(":"))
    except ValueError:
        raise typer.BadParameter(f"{pair!r} is no pair of weights; write --weights 1:2") from None
    return {"semantic": semantic, "keyword": keyword}


def _split(pair: str) -> tuple[str, Any]:
    key, equals, text = pair.partition("=")
    if not equals:
        raise typer.BadParameter(f"{pair!r} is no key=value")
    if not key.endswith(":"):
        return _named(key, pair), text
    try:
        return _named(key.removesuffix(":"), pair), json.loads(text)
    except ValueError as error:
        raise typer.BadParameter(f"{pair!r}: what follows := is no JSON ({error}); use = for text") from error


def _named(key: str, pair: str) -> str:
    if not key.strip():
        raise typer.BadParameter(f"{pair!r} has no key before its =")
    return key.strip()


def _number_or_text(text: str) -> float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
