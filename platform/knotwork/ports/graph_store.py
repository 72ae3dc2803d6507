"""The graph: evidence of chunks, and the entities and relationships merged from it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from knotwork.domain.catalogue import Evidence, GraphChange
from knotwork.domain.graph_views import EntityView, MentionView, RelationshipView
from knotwork.domain.model import ChunkId, Contribution, EntityId, RelationshipId, Subject, TenantId
from knotwork.domain.surroundings import Surroundings
from knotwork.ports.vector_store import View


@dataclass(frozen=True, slots=True)
class PendingSync:
    """Entities and relationships whose existence or audiences changed and whose points must follow, sorted by id.

    An audience is the set of subjects that may read some evidence of the thing.
    """

    id: str
    entities: tuple[EntityId, ...]
    relationships: tuple[RelationshipId, ...]


class GraphStore(Protocol):
    """Entities, relationships and their provenance, kept apart by tenant.

    The merged graph is always that of `merge_contributions` over the evidence present, also while several callers
    write. Every method raises StoreUnavailable when the store does not answer.
    """

    async def put_evidence(self, tenant: TenantId, evidence: Sequence[Evidence]) -> GraphChange:
        """Store what chunks contribute and merge it; it takes the place of evidence of those chunks under another key.

        All or nothing for up to 500 chunks; more are written in several such parts.

        A chunk that has evidence under the same key is passed over, unless its extraction failed then: a repeated call
        changes nothing. Of several pieces of evidence of one chunk the last counts. A failure is kept with the chunk,
        and how often it failed under that key, until the chunk is read (`Catalogue.failed_chunks`).

        Raises:
            InvalidInput: a contribution is not as `checked_evidence` (domain/evidence.py) wants it.
            ProvenanceMissing: a chunk is not stored for this tenant.
        """
        ...

    async def remove_evidence(self, tenant: TenantId, chunks: Sequence[ChunkId]) -> GraphChange:
        """Take back what these chunks contribute and prune what nothing supports; the chunks stay, unread."""
        ...

    async def remove_chunks(self, tenant: TenantId, chunks: Sequence[ChunkId]) -> GraphChange:
        """As `remove_evidence`, and the chunks go too; unknown ids are passed over."""
        ...

    async def move_chunks(self, tenant: TenantId, chunks: Sequence[ChunkId], subjects: Sequence[Subject]) -> None:
        """From now on these subjects may read these chunks and what they assert; unknown ids are passed over."""
        ...

    async def contributions(self, tenant: TenantId, keys: Sequence[str]) -> Mapping[str, Evidence]:
        """For each extraction key under which some chunk has final evidence (done or empty): that evidence."""
        ...

    async def evidence(self, tenant: TenantId, chunks: Sequence[ChunkId]) -> Mapping[ChunkId, Evidence]:
        """What these chunks contribute, for each that was read, whatever came of it; in canonical order by id."""
        ...

    async def pending_syncs(self, tenant: TenantId, limit: int = 100) -> list[PendingSync]:
        """Changes not yet followed in the vector store, oldest first."""
        ...

    async def readers(
        self, tenant: TenantId, entities: Sequence[EntityId], relationships: Sequence[RelationshipId]
    ) -> tuple[Mapping[EntityId, tuple[Subject, ...]], Mapping[RelationshipId, tuple[Subject, ...]]]:
        """For those that exist: the sorted set of subjects that may read some evidence of it."""
        ...

    async def synced(self, tenant: TenantId, ids: Sequence[str]) -> None:
        """The vector store has followed these changes."""
        ...

    async def entities_named(self, tenant: TenantId, names: Sequence[str], *, view: View) -> list[EntityView]:
        """The visible entities with one of these normalised names, of every type, by id."""
        ...

    async def entities(self, tenant: TenantId, ids: Sequence[EntityId], *, view: View) -> list[EntityView]:
        """The visible entities of these ids, by id."""
        ...

    async def search_entities(
        self, tenant: TenantId, prefix: str, *, view: View, after: EntityId | None = None, limit: int = 100
    ) -> list[EntityView]:
        """A page of the visible entities whose normalised name starts with `prefix` (normalised), by (name, id)."""
        ...

    async def mentions(
        self, tenant: TenantId, entity: EntityId, *, view: View, after: ChunkId | None = None, limit: int = 100
    ) -> list[MentionView]:
        """A page of the visible chunks that name an entity, by chunk id."""
        ...

    async def chunks_naming(
        self, tenant: TenantId, entities: Sequence[EntityId], *, view: View, limit: int
    ) -> Mapping[EntityId, tuple[ChunkId, ...]]:
        """For each entity: the first `limit` visible chunks that name it, by id."""
        ...

    async def relationships_of(
        self, tenant: TenantId, entities: Sequence[EntityId], *, view: View, limit: int, chunk_limit: int
    ) -> list[RelationshipView]:
        """Relationships that start or end at these entities: of each entity the `limit` heaviest, ties by id.

        Each with its first `chunk_limit` visible chunks. Sorted by id, each once.
        """
        ...

    async def relationships(
        self, tenant: TenantId, ids: Sequence[RelationshipId], *, view: View, chunk_limit: int
    ) -> list[RelationshipView]:
        """The visible relationships of these ids, by id."""
        ...

    async def surroundings(
        self, tenant: TenantId, *, names: Sequence[str], chunks: Sequence[ChunkId], view: View, hub_mentions: int
    ) -> Surroundings:
        """What is tied to these normalised names and to these chunks, by the visible evidence alone, in one call.

        Names with more than `hub_mentions` visible mentions are counted and not opened, so that what is read does not
        grow with the graph. Repeats and what is unknown or invisible are passed over.
        """
        ...

    def export_graph(self, tenant: TenantId) -> AsyncIterator[Contribution]:
        """Everything merged, with full provenance, as closed-over pages: entities first, then relationships, by id."""
        ...
