"""An export as a Cypher script, for cypher-shell and any Neo4j, Memgraph or other database that speaks Cypher."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from knotwork.domain.export import from_line
from knotwork.domain.ids import entity_label, source_public_id, split_chunk_id
from knotwork.domain.model import SourceRef

_LABELS = ("Source", "Chunk", "Entity")
_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_SURROGATES = re.compile("[\ud800-\udfff]")


def cypher_script(lines: Iterable[bytes]) -> Iterator[str]:
    """The statements that build the graph of an export, one a line, each safe to repeat.

    Entities come before the edges to them: `lines` gives MENTIONS early, so those that name an entity not yet written
    make a bare node, which its own statement fills.

    Raises:
        ExportDamaged: a line is none of an export.
    """
    for label in _LABELS:
        yield f"CREATE CONSTRAINT export_{label.lower()} IF NOT EXISTS FOR (n:{label}) REQUIRE n.id IS UNIQUE;\n"
    for line in lines:
        for statement in _statements(from_line(line)):
            yield f"{statement};\n"


def literal(value: object) -> str:
    """A string, number, true, false, null or list of them as a Cypher literal. Lone surrogates become U+FFFD."""
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(literal, value))}]"  # pyright: ignore[reportUnknownArgumentType] - of JSON
    return json.dumps(value)


def quoted_name(name: str) -> str:
    """A label, type or property name in backticks."""
    return f"`{name.replace('`', '``')}`"


def _string(text: str) -> str:
    text = _SURROGATES.sub("\ufffd", text).replace("\0", "")
    escaped = re.sub(r"[\\'\n\r\t]", lambda match: _ESCAPES[match[0]], text)
    # Cypher reads \uXXXX before anything else, an escaped backslash before the `u` notwithstanding: part the two.
    return "'" + re.sub(r"\\\\(?=u)", r"\\\\' + '", escaped) + "'"


def _statements(record: Any) -> Iterator[str]:
    kind, id_ = record["kind"], record.get("id", "")
    if kind == "source":
        values = {name: record[name] for name in ("type", "title", "text", "content_hash", "media_type")}
        values |= {"source_id": id_, "auth_subjects": record["auth_subjects"]}
        values["metadata"] = json.dumps(record["metadata"], sort_keys=True, ensure_ascii=False)
        yield _node("Source", source_public_id(SourceRef(record["type"], id_)), values)
    elif kind == "chunk":
        values = {name: record[name] for name in ("index", "start", "end", "title", "headings", "page")}
        yield _node("Chunk", id_, values)
        yield _edge("Source", source_public_id(split_chunk_id(id_)[0]), "HAS_CHUNK", "Chunk", id_, {})
        for entity in (record["extraction"] or {}).get("entities", ()):
            said = {name: entity[name] for name in ("name", "surface_forms", "description")}
            yield _edge("Chunk", id_, "MENTIONS", "Entity", entity["id"], said)
    elif kind == "entity":
        values = {name: record[name] for name in ("type", "name", "description", "surface_forms", "mentions")}
        yield _node("Entity", id_, values, label=entity_label(record["type"]))
    elif kind == "relationship":
        values = {name: record[name] for name in ("type", "description", "weight")}
        yield _edge("Entity", record["from"], "RELATES", "Entity", record["to"], values, key=id_)


def _node(kind: str, id_: str, values: dict[str, object], *, label: str | None = None) -> str:
    also = f", n:{quoted_name(label)}" if label else ""
    return f"MERGE (n:{kind} {{id: {literal(id_)}}}) SET n += {_map(values)}{also}"


def _edge(
    from_: str, from_id: str, type_: str, to: str, to_id: str, values: dict[str, object], *, key: str | None = None
) -> str:
    which = f" {{id: {literal(key)}}}" if key else ""
    ends = f"MERGE (a:{from_} {{id: {literal(from_id)}}}) MERGE (b:{to} {{id: {literal(to_id)}}})"
    return f"{ends} MERGE (a)-[r:{type_}{which}]->(b) SET r += {_map(values)}"


def _map(values: dict[str, object]) -> str:
    return "{" + ", ".join(f"{quoted_name(name)}: {literal(value)}" for name, value in values.items()) + "}"
