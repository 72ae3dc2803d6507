"""An export as GraphML, for Gephi, yEd, Cytoscape, NetworkX and igraph."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from knotwork.domain.export import from_line
from knotwork.domain.ids import entity_label, source_public_id, split_chunk_id
from knotwork.domain.model import SourceRef

# Attributes, each declared once at the top: of nodes and of edges.
_STRINGS, _LONGS = ("label", "type", "name", "description", "text", "metadata"), ("mentions", "weight", "index")
_DECLARED = dict.fromkeys(_STRINGS, "string") | dict.fromkeys(_LONGS, "long")
# XML 1.0 has no way to write these at all, not even escaped.
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\r": "&#13;", "\n": "&#10;", "\t": "&#9;"}


def graphml(lines: Iterable[bytes]) -> Iterator[str]:
    """The document of an export, piece by piece: sources, chunks and entities, and every edge between them.

    A node's id is its kind and its public id, as ids of different kinds may be equal. Characters that XML cannot hold
    become U+FFFD.

    Raises:
        ExportDamaged: a line is none of an export.
    """
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    for name, type_ in _DECLARED.items():
        yield f'<key id="{name}" for="all" attr.name="{name}" attr.type="{type_}"/>\n'
    yield '<graph edgedefault="directed">\n'
    for line in lines:
        yield from _elements(from_line(line))
    yield "</graph>\n</graphml>\n"


def escaped(text: str) -> str:
    """Text as it may stand in an element or in a quoted attribute."""
    return re.sub('[&<>"\r\n\t]', lambda match: _ESCAPES[match[0]], _ILLEGAL.sub("\ufffd", text))


def _elements(record: Any) -> Iterator[str]:
    kind, id_ = record["kind"], record.get("id", "")
    if kind == "source":
        metadata = json.dumps(record["metadata"], sort_keys=True, ensure_ascii=False)
        name = source_public_id(SourceRef(record["type"], id_))
        yield _node("source", name, label="Source", type=record["type"], name=record["title"] or id_, metadata=metadata)
    elif kind == "chunk":
        source = source_public_id(split_chunk_id(id_)[0])
        name = f"{source} #{record['index']}"
        yield _node("chunk", id_, label="Chunk", name=name, index=record["index"])
        yield _edge("source", source, "chunk", id_, label="HAS_CHUNK")
        for entity in (record["extraction"] or {}).get("entities", ()):
            said = {"name": entity["name"], "description": entity["description"]}
            yield _edge("chunk", id_, "entity", entity["id"], label="MENTIONS", **said)
    elif kind == "entity":
        values = {name: record[name] for name in ("type", "name", "description", "mentions")}
        yield _node("entity", id_, label=entity_label(record["type"]), **values)
    elif kind == "relationship":
        values = {name: record[name] for name in ("type", "description", "weight")}
        yield _edge("entity", record["from"], "entity", record["to"], label="RELATES", **values)


def _node(kind: str, id_: str, **values: object) -> str:
    return f'<node id="{escaped(f"{kind} {id_}")}">{_data(values)}</node>\n'


def _edge(from_kind: str, from_id: str, to_kind: str, to_id: str, **values: object) -> str:
    ends = f'source="{escaped(f"{from_kind} {from_id}")}" target="{escaped(f"{to_kind} {to_id}")}"'
    return f"<edge {ends}>{_data(values)}</edge>\n"


def _data(values: dict[str, object]) -> str:
    return "".join(f'<data key="{name}">{escaped(str(value))}</data>' for name, value in values.items() if value != "")
