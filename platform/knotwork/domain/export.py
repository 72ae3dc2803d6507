"""The lines of an export: what a tenant holds, in one canonical form, so that equal states are equal bytes.

An export is JSON Lines. Each line is an object with sorted keys, without spaces, in UTF-8; its `kind` says what it is:

| kind | in order of | what it holds |
|---|---|---|
| header | | format, version, and the settings that chunks and graph depend on |
| source | type, id | a source with its text; its chunks follow |
| chunk | id | a span of the source before it, and what the extractor made of it: the evidence |
| entity, then relationship | id | what the evidence makes, merged |
| end | | the number of lines before it, and the SHA-256 of their bytes, which names the state |

Strings are in order of code points. Tenant, keys, times, runs, usage and vectors are no part of it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from knotwork.domain.catalogue import Evidence, ExtractionState, StoredChunk, TenantSettings
from knotwork.domain.ids import content_hash, split_chunk_id, split_entity_id, split_relationship_id
from knotwork.domain.inputs import PREVIEW_CHARS, text_hash
from knotwork.domain.model import (
    Chunk,
    ChunkId,
    Contribution,
    Entity,
    EntityId,
    Heading,
    PageStart,
    ParsedText,
    Relationship,
    RelationshipId,
    Source,
    SourceRef,
)
from knotwork.errors import ExportDamaged, InvalidInput

FORMAT = "knotwork-export"
VECTOR_FORMAT = "knotwork-vectors"
VERSION = 1

Record: TypeAlias = Mapping[str, Any]
Place: TypeAlias = tuple[int, str, str, str]

_SECTIONS = {"header": 0, "source": 1, "chunk": 1, "entity": 2, "relationship": 3, "end": 4}


@dataclass(frozen=True, slots=True)
class Settings:
    """What chunks and graph depend on besides the documents."""

    chunker: str
    tenant: TenantSettings


class StateHash:
    """Names the lines that went through it."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self.lines = 0

    def add(self, line: bytes) -> bytes:
        self._hash.update(line)
        self.lines += 1
        return line

    @property
    def hexdigest(self) -> str:
        return self._hash.hexdigest()

    def end_record(self) -> Record:
        """What the last line says of those before it."""
        return {"kind": "end", "lines": self.lines, "sha256": self.hexdigest}


def to_line(record: Record) -> bytes:
    """The canonical line of a record."""
    text = json.dumps(record, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8", "surrogatepass") + b"\n"


def from_line(line: bytes) -> Record:
    """The record of a line.

    Raises:
        ExportDamaged: the line is no JSON object of a known kind.
    """
    try:
        record = json.loads(line.decode("utf-8", "surrogatepass"))
        if record["kind"] in _SECTIONS:
            return record
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    raise ExportDamaged(f"this is no line of an export: {line[:80]!r}; give a file that `knotwork export` wrote")


def place(record: Record) -> Place:
    """Where a record stands in the order of an export.

    Raises:
        ExportDamaged: it does not say what it is the record of.
    """
    kind = record["kind"]
    section = _SECTIONS[kind]
    with _fields_of(record):
        if kind == "source":
            return section, _text(record["type"]), _text(record["id"]), ""
        if kind == "chunk":
            ref = split_chunk_id(_text(record["id"]))[0]
            return section, ref.type, ref.id, record["id"]
        if kind in {"entity", "relationship"}:
            return section, _text(record["id"]), "", ""
    return section, "", "", ""


def header_record(settings: Settings) -> Record:
    return {
        "kind": "header",
        "format": FORMAT,
        "version": VERSION,
        "settings": {"chunker": settings.chunker, "tenant": asdict(settings.tenant)},
    }


def settings_of(header: Record) -> Settings:
    """The settings that a header names.

    Raises:
        ExportDamaged: it is no header of this format and version.
    """
    if header.get("format") != FORMAT or header.get("version") != VERSION:
        raise ExportDamaged(
            f"the first line says {header.get('format')!r}, version {header.get('version')!r}; this release reads "
            f"{FORMAT!r}, version {VERSION}"
        )
    with _fields_of(header):
        settings = header["settings"]
        return Settings(settings["chunker"], TenantSettings(**settings["tenant"]))


def source_record(source: Source, parsed: ParsedText) -> Record:
    return {
        "kind": "source",
        "type": source.ref.type,
        "id": source.ref.id,
        "title": parsed.title,
        "text": parsed.text,
        "headings": [[heading.start, heading.level, heading.text] for heading in parsed.headings],
        "pages": [[page.start, page.page] for page in parsed.pages],
        "content_hash": source.content_hash,
        "auth_subjects": sorted(source.auth_subjects),
        "metadata": dict(source.metadata),
        "media_type": source.media_type,
        "graph": source.graph,
    }


def source_of(record: Record) -> tuple[Source, ParsedText]:
    """The source of a record, with its text.

    Raises:
        ExportDamaged: the text is not the one that the record's hash names, or a field is missing or of another kind.
    """
    with _fields_of(record):
        parsed = ParsedText(
            text=record["text"],
            title=record["title"],
            headings=tuple(Heading(*heading) for heading in record["headings"]),
            pages=tuple(PageStart(*page) for page in record["pages"]),
        )
        if text_hash(parsed) != record["content_hash"]:
            raise ExportDamaged(f"the text of {record['type']}:{record['id']} does not match its hash; export it again")
        source = Source(
            ref=SourceRef(_text(record["type"]), _text(record["id"])),
            title=parsed.title,
            content_hash=record["content_hash"],
            auth_subjects=tuple(record["auth_subjects"]),
            metadata=record["metadata"],
            media_type=_text(record["media_type"]),
            graph=record["graph"],
            size_chars=len(parsed.text),
        )
        return source, parsed


def chunk_record(chunk: StoredChunk, evidence: Evidence | None) -> Record:
    return {
        "kind": "chunk",
        "id": chunk.id,
        "index": chunk.index,
        "start": chunk.start,
        "end": chunk.end,
        "title": chunk.title,
        "headings": list(chunk.headings),
        "page": chunk.page,
        "extraction": None if evidence is None else _evidence_record(evidence),
    }


def chunk_of(record: Record, parsed: ParsedText) -> tuple[Chunk, Evidence | None]:
    """The chunk of a record, cut from its source's text, with what was extracted from it.

    Raises:
        ExportDamaged: its span is not the text that its id names, or a field is missing or of another kind.
    """
    with _fields_of(record):
        source, digest, _ = split_chunk_id(record["id"])
        chunk = Chunk(
            id=ChunkId(record["id"]),
            source=source,
            index=record["index"],
            text=parsed.text[record["start"] : record["end"]],
            start=record["start"],
            end=record["end"],
            content_hash=digest,
            title=record["title"],
            headings=tuple(record["headings"]),
            page=record["page"],
        )
        if content_hash(chunk.text) != digest:
            raise ExportDamaged(f"chunk {chunk.id!r} is not the text that its id names; export it again")
        extraction = record["extraction"]
        return chunk, None if extraction is None else _evidence_of(chunk.id, extraction)


def stored_chunk(chunk: Chunk, embedding_key: str) -> StoredChunk:
    """A chunk as the catalogue keeps it."""
    return StoredChunk(
        id=chunk.id,
        index=chunk.index,
        start=chunk.start,
        end=chunk.end,
        content_hash=chunk.content_hash,
        title=chunk.title,
        headings=chunk.headings,
        page=chunk.page,
        preview=chunk.text[:PREVIEW_CHARS],
        embedding_key=embedding_key,
    )


def entity_record(entity: Entity) -> Record:
    """A merged entity; which chunks name it stands with the chunks."""
    return {
        "kind": "entity",
        "id": entity.id,
        "type": entity.type,
        "name": entity.name,
        "description": entity.description,
        "surface_forms": list(entity.surface_forms),
        "mentions": len(entity.provenance),
    }


def relationship_record(relationship: Relationship) -> Record:
    """A merged relationship; which chunks assert it stands with the chunks."""
    return {
        "kind": "relationship",
        "id": relationship.id,
        "from": relationship.from_id,
        "to": relationship.to_id,
        "type": relationship.type,
        "description": relationship.description,
        "weight": relationship.weight,
    }


def contribution_values(contribution: Contribution) -> Record:
    """All that a chunk says, in canonical order, without the chunk."""
    return {
        "entities": [
            {"id": one.id, "name": one.name, "description": one.description, "surface_forms": sorted(one.surface_forms)}
            for one in sorted(contribution.entities, key=lambda one: one.id)
        ],
        "relationships": [
            {"id": one.id, "description": one.description}
            for one in sorted(contribution.relationships, key=lambda one: one.id)
        ],
    }


@contextmanager
def _fields_of(record: Record) -> Generator[None]:
    """Read a record's fields; one that is missing or of another kind is damage."""
    try:
        yield
    except ExportDamaged:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, InvalidInput) as error:
        name = str(record.get("id") or record.get("kind"))[:80]
        raise ExportDamaged(
            f"the line of {name!r} does not hold what it should ({type(error).__name__}: {error}); export it again"
        ) from error


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _evidence_record(evidence: Evidence) -> Record:
    values = contribution_values(evidence.contribution)
    return {"key": evidence.extraction_key, "state": evidence.state.value, **values}


def _evidence_of(chunk_id: ChunkId, record: Record) -> Evidence:
    provenance = (chunk_id,)
    entities = tuple(
        Entity(
            id=EntityId(one["id"]),
            type=split_entity_id(one["id"])[0],
            name=one["name"],
            description=one["description"],
            surface_forms=tuple(one["surface_forms"]),
            provenance=provenance,
        )
        for one in record["entities"]
    )
    contribution = Contribution(entities, tuple(_relationships(record["relationships"], chunk_id)))
    return Evidence(chunk_id, record["key"], ExtractionState(record["state"]), contribution)


def _relationships(records: Sequence[Record], chunk_id: ChunkId) -> list[Relationship]:
    found: list[Relationship] = []
    for one in records:
        from_id, type_, to_id = split_relationship_id(one["id"])
        found.append(Relationship(RelationshipId(one["id"]), from_id, to_id, type_, one["description"], (chunk_id,)))
    return found
