"""Ids: readable, deterministic and unambiguous, computed here and nowhere else.

Public ids never name a tenant; every stored key does. An id made of free parts joins them by `:`. All parts but the
last have their own `:` doubled, and a part after the first that is empty or begins with `:` or `\\` has one `\\` put
before it. So no joint is followed by a `:`, and no two lists of parts share an id; doubling alone would join
("a:", "b") and ("a", ":b") alike.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Sequence

from knotwork.domain.model import ChunkId, EntityId, RelationshipId, SourceRef, TenantId
from knotwork.domain.normalise import UNKNOWN_TYPE, normalise_name, normalise_type
from knotwork.domain.text import capitalise
from knotwork.errors import InvalidInput

MAX_KEY_BYTES = 4000  # Neo4j refuses a key over 8,167 bytes
POINT_NAMESPACE = uuid.UUID("6b6e6f74-776f-5b72-8b00-706f696e7473")  # fixed for ever: it makes every Qdrant point's id

# The labels that the platform gives to nodes of its own; no entity's type may become one of them.
RESERVED_LABELS = frozenset(
    {
        "ApiKey",
        "Audience",
        "Chunk",
        "Community",
        "Entity",
        "Fact",
        "IndexRun",
        "KeyGuard",
        "Node",
        "Skill",
        "SkillGraph",
        "SkillVersion",
        "Source",
        "SourceGuard",
        "SourceText",
        "Tenant",
        "Usage",
        "VectorSync",
    }
)

_JOINT = ":"
_GUARD = "\\"
_PART = re.compile(r"((?:[^:]|::)*):(?!:)", re.DOTALL)
_CHUNK_PARTS = 4
_RELATIONSHIP_PARTS = 3


def entity_id(type_: str, name: str) -> EntityId | None:
    """`type:name` of a raw type and a raw name; None when they make no entity (no usable name, a type too long)."""
    normal_type, normal_name = normalise_type(type_), normalise_name(name)
    return join_entity_id(normal_type, normal_name) if normal_type and normal_name else None


def join_entity_id(type_: str, name: str) -> EntityId:
    """`type:name` of a type and a name that are normalised already; neither can hold a `:`."""
    return EntityId(f"{type_}:{name}")


def split_entity_id(id_: str) -> tuple[str, str]:
    """The normalised type and name of an entity's id.

    Raises:
        InvalidInput: not an entity's id.
    """
    type_, joint, name = id_.partition(":")
    if not (type_ and joint and name):
        raise InvalidInput(f"{id_!r} is no entity id; give type:name, such as concept:retry budget")
    return type_, name


def relationship_id(from_id: EntityId, type_: str, to_id: EntityId) -> RelationshipId:
    """`from-id|type|to-id` of a normalised type; none of the three can hold a `|`."""
    return RelationshipId(f"{from_id}|{type_}|{to_id}")


def split_relationship_id(id_: str) -> tuple[EntityId, str, EntityId]:
    """The from-id, normalised type and to-id of a relationship's id.

    Raises:
        InvalidInput: not a relationship's id.
    """
    parts = id_.split("|")
    if len(parts) != _RELATIONSHIP_PARTS or not all(parts):
        raise InvalidInput(f"{id_!r} is no relationship id; give from-id|type|to-id")
    return EntityId(parts[0]), parts[1], EntityId(parts[2])


def source_public_id(source: SourceRef) -> str:
    """`type:id` of a source, such as `document:docs/readme.md`."""
    return _join(source.type, source.id)


def chunk_id(source: SourceRef, text: str, ordinal: int) -> ChunkId:
    """`source type:source id:hash of the text:ordinal`.

    Args:
        source: Where the chunk stands; any id is legal.
        text: The chunk's text.
        ordinal: Which of the equal texts of this source it is, in order, from 0.
    """
    return ChunkId(_join(source.type, source.id, content_hash(text), str(ordinal)))


def split_chunk_id(id_: str) -> tuple[SourceRef, str, int]:
    """The source, content hash and ordinal of a chunk's id.

    Raises:
        InvalidInput: not a chunk's id.
    """
    parts = _split(id_, _CHUNK_PARTS)
    if parts is None or not re.fullmatch(r"[0-9a-f]{64}:(?:0|[1-9][0-9]*)", f"{parts[2]}:{parts[3]}"):
        raise InvalidInput(f"{id_!r} is no chunk id; give one as it came in an answer")
    return SourceRef(parts[0], parts[1]), parts[2], int(parts[3])


def storage_key(tenant: TenantId, id_: str) -> str:
    """The `key` property in Neo4j of what has this id in this tenant: `tenant:id`, unlike any other pair's.

    Over MAX_KEY_BYTES in UTF-8, a SHA-256 of the id stands for it, in a form that no id takes (`tenant:\\sha256:...`).
    """
    key = _join(tenant, id_)
    if len(_utf8(key)) <= MAX_KEY_BYTES:
        return key
    return f"{_join(tenant, '')}sha256:{content_hash(id_)}"


def key_range(tenant: TenantId) -> tuple[str, str]:
    """Two keys between which every key of a tenant lies; so may those of tenants whose names go on with a `:`."""
    first = _join(tenant, "x")[:-1]
    return first, first[:-1] + chr(ord(_JOINT) + 1)


def key_tenant(key: str) -> TenantId | None:
    """The tenant that a storage key names; None when it is no such key."""
    match = _PART.match(key)
    return None if match is None else TenantId(match[1].replace(_JOINT * 2, _JOINT))


def skill_row_id(graph: str, *parts: str) -> str:
    """The id of a row of a skill graph: the graph itself, or with the hash, skill or place that it is about."""
    return _join("skill-graph", graph, *parts)


def point_id(tenant: TenantId, id_: str) -> str:
    """The UUIDv5 of (tenant, id) that names a point in Qdrant."""
    # As uuid.uuid5, which refuses text with surrogates.
    digest = hashlib.sha1(POINT_NAMESPACE.bytes + _utf8(_join(tenant, id_)), usedforsecurity=False).digest()
    return str(uuid.UUID(bytes=digest[:16], version=5))


def content_hash(text: str) -> str:
    """The SHA-256 of the text in UTF-8, as 64 hex digits. Any string has one, lone surrogates included."""
    return hashlib.sha256(_utf8(text)).hexdigest()


def audience_id(subjects: Sequence[str]) -> str:
    """The id of a set of auth subjects; neither order nor repeats count."""
    return f"audience:{_digest(sorted(set(subjects)))}"


def community_id(level: int, members: Sequence[EntityId]) -> str:
    """The id of a community: the same members on the same level, the same id.

    Args:
        level: Of the hierarchy, from 0.
        members: In any order; repeats do not count.
    """
    return f"community:{level}:{_digest(sorted(set(members)))}"


def entity_label(type_: str) -> str:
    """The Neo4j label of a normalised type: `incident-report` → `IncidentReport`.

    Never empty and never one of RESERVED_LABELS (`source` → `Source_`). For looking at: types that differ in
    hyphens only may share a label, so that the type itself is a property beside it. Pass it as a parameter.
    """
    label = "".join(capitalise(word) for word in type_.split("-")) or capitalise(UNKNOWN_TYPE)
    return f"{label}_" if label in RESERVED_LABELS else label


def _digest(values: Sequence[str]) -> str:
    return content_hash(json.dumps(values))[:32]  # 128 bits: far beyond any number of sets


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _join(*parts: str) -> str:
    *firsts, last = parts
    escaped = [part.replace(_JOINT, _JOINT * 2) for part in firsts] + [last]
    return _JOINT.join(escaped[:1] + [_guarded(part) for part in escaped[1:]])


def _guarded(part: str) -> str:
    return _GUARD + part if not part or part[0] in _JOINT + _GUARD else part


def _split(text: str, count: int) -> tuple[str, ...] | None:
    """The parts that `_join` joined, or None when it cannot have joined `count` parts to this text."""
    parts: list[str] = []
    start = 0
    for _ in range(count - 1):
        match = _PART.match(text, start)
        if match is None:
            return None
        parts.append(match[1].replace(_JOINT * 2, _JOINT))
        start = match.end()
    parts.append(text[start:])
    parts[1:] = [part.removeprefix(_GUARD) for part in parts[1:]]
    return tuple(parts) if _join(*parts) == text else None
