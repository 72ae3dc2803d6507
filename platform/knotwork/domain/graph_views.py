"""What a caller sees of the graph: entities, relationships and evidence as visible to one view."""

from __future__ import annotations

from dataclasses import dataclass

from knotwork.domain.model import ChunkId, EntityId, RelationshipId


@dataclass(frozen=True, slots=True)
class EntityView:
    """An entity as the visible evidence shows it; `mentions` counts the visible chunks that name it."""

    id: EntityId
    type: str
    name: str
    description: str
    mentions: int


@dataclass(frozen=True, slots=True)
class RelationshipView:
    """A relationship as the visible evidence shows it; `weight` counts the visible chunks that assert it."""

    id: RelationshipId
    from_id: EntityId
    from_name: str
    to_id: EntityId
    to_name: str
    type: str
    description: str
    weight: int
    chunks: tuple[ChunkId, ...] = ()  # visible chunks that assert it, sorted, cut to what was asked for


@dataclass(frozen=True, slots=True)
class MentionView:
    """One visible chunk that names an entity, with the spellings and the description it gives."""

    chunk_id: ChunkId
    name: str
    surface_forms: tuple[str, ...]
    description: str
