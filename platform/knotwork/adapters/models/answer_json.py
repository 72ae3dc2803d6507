"""Reading the JSON that a chat model was asked for out of what it wrote."""

from __future__ import annotations

import json
import re
from typing import Final, cast

import json_repair

MAX_CHARS: Final = 200_000  # a chunk's answer has a few thousand; repair is slow on text without end
FIELDS: Final = frozenset({"entities", "relationships"})  # of an extraction
THOUGHTS: Final = re.compile(r"<think>.*?(</think>|\Z)", re.DOTALL)


class Unparseable(ValueError):
    """What was asked for is not in this text."""


def read_answer(text: str, fields: frozenset[str] = FIELDS) -> object:
    """The object with these fields in an answer; its shape is not checked beyond being an object or a list.

    Valid JSON is taken as it is. Otherwise fences, text around the object, trailing commas and a cut-off end are
    repaired, and the first object that has one of the fields is taken; prose has none.

    Raises:
        Unparseable: nothing of the kind is in it.
    """
    text = THOUGHTS.sub("", text[:MAX_CHARS]).strip()
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        value = _repaired(text, fields)
    if not isinstance(value, dict | list):
        raise Unparseable
    return cast("object", value)


def _repaired(text: str, fields: frozenset[str]) -> object:
    try:
        value: object = json_repair.loads(text, skip_json_loads=True)
    except (ValueError, RecursionError):
        raise Unparseable from None
    candidates = cast("list[object]", value) if isinstance(value, list) else [value]
    for candidate in candidates:
        if isinstance(candidate, dict) and fields & candidate.keys():
            return cast("object", candidate)
    raise Unparseable
