"""Opaque cursors: where a page ended, as text that fits into an address."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Annotated, cast

from fastapi import Query

from knotwork.domain.normalise import clean_text
from knotwork.errors import InvalidInput

Limit = Annotated[int, Query(ge=1, le=1000, description="Items a page, at most.")]
After = Annotated[
    str | None, Query(max_length=40_000, pattern=r"^[A-Za-z0-9_-]*$", description="`next` of the page before.")
]


def cursor(*parts: str) -> str:
    """The parts as one cursor."""
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")


def read_cursor(text: str, count: int) -> tuple[str, ...]:
    """The parts of a cursor.

    Raises:
        InvalidInput: it is none of ours.
    """
    try:
        parts: object = json.loads(base64.urlsafe_b64decode(text.encode() + b"=" * (-len(text) % 4)))
    except (ValueError, binascii.Error, RecursionError):
        parts = None
    if not isinstance(parts, list):
        raise InvalidInput("`after` is no cursor; pass `next` of the page before as it came")
    items = cast("list[object]", parts)
    if len(items) != count or not all(isinstance(item, str) and item for item in items):
        raise InvalidInput("`after` is no cursor of this list; pass `next` of the page before as it came")
    return tuple(clean_text(cast("str", item)) for item in items)
