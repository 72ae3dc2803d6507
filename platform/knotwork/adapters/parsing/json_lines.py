"""JSON Lines → text: a heading and paragraphs a record."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from knotwork.adapters.parsing.builder import TextBuilder
from knotwork.adapters.parsing.encoding import decode
from knotwork.domain.model import ParsedText
from knotwork.errors import InvalidInput

_NAMES = ("title", "name", "id")
_BODIES = ("text", "content", "body")
_LEVEL = 2  # level 1 would make the first record's title that of the file


def parse_json_lines(data: bytes, name: str) -> ParsedText:
    """Read one JSON object a line. `title`, else `name`, else `id` heads it; `text`, `content` and `body` stand as
    they are, other fields as lines `field: value`.

    A bad line is refused, not passed over: a record lost in silence would be missed by nobody.

    Raises:
        InvalidInput: a line is no JSON object; the message names it.
    """
    builder = TextBuilder()
    for _, record in read_objects(decode(data, name), name):
        head = next((field for field in _NAMES if isinstance(record.get(field), str | int)), None)
        if head:
            builder.heading(_LEVEL, str(record[head]))
        fields = [
            f"{field}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
            for field, value in record.items()
            if field not in {head, *_BODIES} and value not in (None, "")
        ]
        builder.paragraph("\n".join(fields))
        for field in _BODIES:
            value = record.get(field)
            if value is not None:
                builder.paragraph(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    return builder.build()


def read_objects(text: str, name: str) -> Iterator[tuple[int, Mapping[str, object]]]:
    """The objects of a JSON Lines text with their line numbers, from 1; blank lines are passed over.

    Raises:
        InvalidInput: a line is no JSON object.
    """
    # Not splitlines: U+2028 and its like may stand raw inside a JSON string.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value: object = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InvalidInput(f"line {number} of {name!r} is no JSON ({error}); mend it") from error
        if not isinstance(value, dict):
            raise InvalidInput(f"line {number} of {name!r} is no JSON object; put one object on each line")
        yield number, value
