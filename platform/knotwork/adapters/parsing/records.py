"""Corpora: a JSON Lines file whose every row is a source of its own."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import cast

from knotwork.adapters.parsing.builder import clean
from knotwork.adapters.parsing.encoding import decode
from knotwork.adapters.parsing.json_lines import read_objects
from knotwork.domain.model import Metadata, MetadataValue
from knotwork.errors import InvalidInput

_GZIP = b"\x1f\x8b"
_MAX_UNPACKED_BYTES = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Record:
    """A row: what becomes the source of this id. `text` has `\\n` line ends; `title` is empty where there is none."""

    id: str
    title: str
    text: str
    metadata: Metadata = field(default_factory=dict[str, MetadataValue])


def expand_jsonl(data: bytes, name: str) -> list[Record]:
    """The rows of a corpus, plain or gzip, in order. Each has a string `id`, unique and not empty, and a string `text`.

    `title` is taken where it is a string. Every other field is metadata: a string, number, boolean, or list of
    strings or of numbers as it is, null left out, anything else as its JSON.

    Raises:
        InvalidInput: a row is no such record, or an id comes twice; the message names the line.
        UnsupportedDocument: the bytes are no text.
    """
    text = decode(_unpacked(data, name) if data.startswith(_GZIP) else data, name)
    lines: dict[str, int] = {}
    records: list[Record] = []
    for number, row in read_objects(text, name):
        id_, body, title = row.get("id"), row.get("text"), row.get("title")
        if not isinstance(id_, str) or not id_ or not isinstance(body, str):
            raise InvalidInput(f"line {number} of {name!r} is no record: it needs a string `id` and a string `text`")
        if id_ in lines:
            raise InvalidInput(f"lines {lines[id_]} and {number} of {name!r} have the same id {id_!r}; rename one")
        lines[id_] = number
        known = {"id", "text"} | ({"title"} if isinstance(title, str) else set[str]())
        metadata = {key: _flat(value) for key, value in row.items() if key not in known and value is not None}
        records.append(Record(id_, clean(title) if isinstance(title, str) else "", clean(body), metadata))
    return records


def _unpacked(data: bytes, name: str) -> bytes:
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)  # 16: the gzip container
    try:
        text = unpacker.decompress(data, _MAX_UNPACKED_BYTES)
    except zlib.error as error:
        raise InvalidInput(f"{name!r} is no gzip file ({error}); pack it again") from error
    if unpacker.unconsumed_tail:
        raise InvalidInput(f"{name!r} unpacks to over {_MAX_UNPACKED_BYTES} bytes; split it")
    if not unpacker.eof:
        raise InvalidInput(f"{name!r} ends in the middle of its gzip data; copy it again")
    return text


def _flat(value: object) -> MetadataValue:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, list):
        items = cast("Sequence[object]", value)
        if _all_of(items, str):
            return [clean(str(item)) for item in items]
        if _all_of(items, int) or _all_of(items, float):
            return cast("Sequence[int] | Sequence[float]", items)
    return json.dumps(value, ensure_ascii=False)


def _all_of(items: Iterable[object], kind: type) -> bool:
    return all(type(item) is kind for item in items)
