"""The values of the platform. Terms: source, chunk, entity, relationship, provenance (docs/reference/terms.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NewType, TypeAlias

TenantId = NewType("TenantId", str)
ChunkId = NewType("ChunkId", str)
EntityId = NewType("EntityId", str)
RelationshipId = NewType("RelationshipId", str)
Subject: TypeAlias = str  # `user:ana`, `group:sre`; EVERYONE means every reader of the tenant
Vector: TypeAlias = Sequence[float]
MetadataValue: TypeAlias = str | int | float | bool | Sequence[str] | Sequence[int | float | bool]
Metadata: TypeAlias = Mapping[str, MetadataValue]  # flat; dates are ISO 8601 strings

EVERYONE: Subject = "*"


@dataclass(frozen=True, slots=True, order=True)
class SourceRef:
    """Names one source within a tenant. `type` is a normalised type; `id` is any non-empty string."""

    type: str
    id: str


@dataclass(frozen=True, slots=True, order=True)
class Heading:
    """A heading of a source: where its text starts, in characters, and its level, 1 the highest."""

    start: int
    level: int
    text: str


@dataclass(frozen=True, slots=True, order=True)
class PageStart:
    """Where a page of a source starts, in characters of its text; pages count from 1."""

    start: int
    page: int


@dataclass(frozen=True, slots=True)
class ParsedText:
    """What a parser made of a document. All offsets are characters of `text`.

    `text` is NFC-agnostic plain text with `\\n` line ends, paragraphs parted by blank lines; heading lines stand in it.
    """

    text: str
    title: str = ""
    headings: tuple[Heading, ...] = ()
    pages: tuple[PageStart, ...] = ()


@dataclass(frozen=True, slots=True)
class Chunk:
    """A stored span of a source: `text == parsed.text[start:end]`."""

    id: ChunkId
    source: SourceRef
    index: int  # position in the source, from 0
    text: str
    start: int
    end: int
    content_hash: str  # SHA-256 of the text, hex
    title: str = ""
    headings: tuple[str, ...] = ()  # heading trail, outermost first
    page: int | None = None


@dataclass(frozen=True, slots=True)
class Entity:
    """A thing named in chunks, merged from its evidence."""

    id: EntityId
    type: str
    name: str
    description: str = ""
    surface_forms: tuple[str, ...] = ()  # sorted set
    provenance: tuple[ChunkId, ...] = ()  # sorted set


@dataclass(frozen=True, slots=True)
class Relationship:
    """A typed, directed link of two entities, merged from its evidence. Its weight is the size of its provenance."""

    id: RelationshipId
    from_id: EntityId
    to_id: EntityId
    type: str
    description: str = ""
    provenance: tuple[ChunkId, ...] = ()  # sorted set

    @property
    def weight(self) -> int:
        return len(self.provenance)


@dataclass(frozen=True, slots=True)
class Contribution:
    """Entities and relationships with provenance; both sorted by id."""

    entities: tuple[Entity, ...] = ()
    relationships: tuple[Relationship, ...] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens a model counted; an absent count is 0."""

    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.input_tokens + other.input_tokens, self.output_tokens + other.output_tokens)


NO_USAGE = Usage()


@dataclass(frozen=True, slots=True)
class Source:
    """One document of a tenant as stored, without its text."""

    ref: SourceRef
    title: str
    content_hash: str  # SHA-256 over the parsed text, title, headings and pages
    auth_subjects: tuple[Subject, ...] = (EVERYONE,)  # sorted set, never empty
    metadata: Metadata = field(default_factory=dict[str, MetadataValue])
    media_type: str = "text/plain"
    graph: bool | None = None  # the source's own flag; None: the tenant's default
    chunks: int = 0
    size_chars: int = 0


@dataclass(frozen=True, slots=True)
class Passage:
    """What retrieval returns. A higher score is more relevant; its scale is the mode's."""

    id: ChunkId
    text: str
    score: float
    source: SourceRef | None = None
    metadata: Mapping[str, object] = field(default_factory=dict[str, object])
