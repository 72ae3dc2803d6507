"""GraphStore in memory: merges the evidence present whenever it is asked, by the rules of domain/merge.py alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TypeVar

from knotwork.adapters.memory.database import ChunkRow, MemoryDatabase, TenantRows, matches, may_read
from knotwork.domain.catalogue import Evidence, ExtractionState, GraphChange
from knotwork.domain.evidence import checked_evidence
from knotwork.domain.graph_views import EntityView, MentionView, RelationshipView
from knotwork.domain.ids import split_entity_id
from knotwork.domain.merge import merge_contributions
from knotwork.domain.model import (
    ChunkId,
    Contribution,
    Entity,
    EntityId,
    RelationshipId,
    Subject,
    TenantId,
)
from knotwork.domain.surroundings import ChunkSurroundings, NameSurroundings, Surroundings, is_about
from knotwork.errors import ProvenanceMissing
from knotwork.ports.graph_store import PendingSync
from knotwork.ports.vector_store import View
from knotwork.run_ids import new_run_id

FINAL = (ExtractionState.DONE, ExtractionState.EMPTY)
Audiences = set[tuple[Subject, ...]]
_Id = TypeVar("_Id", EntityId, RelationshipId)


@dataclass(frozen=True, slots=True)
class Known:
    """Who knows of each entity and relationship: the audiences of the chunks that say it."""

    entities: Mapping[EntityId, Audiences]
    relationships: Mapping[RelationshipId, Audiences]


class MemoryGraphStore:
    """GraphStore over a MemoryDatabase."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._database = database

    async def put_evidence(self, tenant: TenantId, evidence: Sequence[Evidence]) -> GraphChange:
        rows = self._database.tenants[tenant]
        given = checked_evidence(evidence)
        found = sum(one.chunk_id in rows.chunks for one in given)
        if found != len(given):
            raise ProvenanceMissing(found=found, expected=len(given))
        due = [one for one in given if _is_due(one, rows.chunks[one.chunk_id].evidence)]

        def change() -> None:
            for one in due:
                _put(rows.chunks[one.chunk_id], one)

        pruned = _noting_changes(rows, change)
        parts = [one.contribution for one in due]
        return GraphChange(
            entities=len({entity.id for part in parts for entity in part.entities}),
            relationships=len({relationship.id for part in parts for relationship in part.relationships}),
            pruned=pruned,
        )

    async def remove_evidence(self, tenant: TenantId, chunks: Sequence[ChunkId]) -> GraphChange:
        rows = self._database.tenants[tenant]

        def change() -> None:
            for chunk in rows.chunks.keys() & set(chunks):
                rows.chunks[chunk].evidence = None

        return GraphChange(pruned=_noting_changes(rows, change))

    async def remove_chunks(self, tenant: TenantId, chunks: Sequence[ChunkId]) -> GraphChange:
        rows = self._database.tenants[tenant]

        def change() -> None:
            for chunk in set(chunks):
                rows.chunks.pop(chunk, None)

        return GraphChange(pruned=_noting_changes(rows, change))

    async def move_chunks(self, tenant: TenantId, chunks: Sequence[ChunkId], subjects: Sequence[Subject]) -> None:
        rows = self._database.tenants[tenant]

        def change() -> None:
            for chunk in rows.chunks.keys() & set(chunks):
                rows.chunks[chunk].subjects = tuple(sorted(set(subjects)))

        _noting_changes(rows, change)

    async def contributions(self, tenant: TenantId, keys: Sequence[str]) -> Mapping[str, Evidence]:
        found: dict[str, Evidence] = {}
        for _, evidence in self._database.tenants[tenant].evidence(View()):
            if evidence.extraction_key in keys and evidence.state in FINAL:
                found.setdefault(evidence.extraction_key, evidence)
        return found

    async def evidence(self, tenant: TenantId, chunks: Sequence[ChunkId]) -> Mapping[ChunkId, Evidence]:
        rows = self._database.tenants[tenant].chunks
        return {id_: found for id_ in chunks if id_ in rows and (found := rows[id_].evidence)}

    async def pending_syncs(self, tenant: TenantId, limit: int = 100) -> list[PendingSync]:
        return [sync for _, sync in sorted(self._database.tenants[tenant].syncs.items())][:limit]

    async def readers(
        self, tenant: TenantId, entities: Sequence[EntityId], relationships: Sequence[RelationshipId]
    ) -> tuple[Mapping[EntityId, tuple[Subject, ...]], Mapping[RelationshipId, tuple[Subject, ...]]]:
        known = _known(self._database.tenants[tenant])
        return (
            {id_: _union(known.entities[id_]) for id_ in entities if id_ in known.entities},
            {id_: _union(known.relationships[id_]) for id_ in relationships if id_ in known.relationships},
        )

    async def synced(self, tenant: TenantId, ids: Sequence[str]) -> None:
        for id_ in ids:
            self._database.tenants[tenant].syncs.pop(id_, None)

    async def entities_named(self, tenant: TenantId, names: Sequence[str], *, view: View) -> list[EntityView]:
        merged = self._merged(tenant, view)
        return [_entity_view(entity) for entity in merged.entities if split_entity_id(entity.id)[1] in names]

    async def entities(self, tenant: TenantId, ids: Sequence[EntityId], *, view: View) -> list[EntityView]:
        return [_entity_view(entity) for entity in self._merged(tenant, view).entities if entity.id in ids]

    async def search_entities(
        self, tenant: TenantId, prefix: str, *, view: View, after: EntityId | None = None, limit: int = 100
    ) -> list[EntityView]:
        places = {(split_entity_id(one.id)[1], one.id): one for one in self._merged(tenant, view).entities}
        start = (split_entity_id(after)[1], after) if after else None
        found = [place for place in sorted(places) if place[0].startswith(prefix) and (not start or place > start)]
        return [_entity_view(places[place]) for place in found[:limit]]

    async def mentions(
        self, tenant: TenantId, entity: EntityId, *, view: View, after: ChunkId | None = None, limit: int = 100
    ) -> list[MentionView]:
        found = [
            MentionView(row.chunk.id, one.name, one.surface_forms, one.description)
            for row, evidence in self._database.tenants[tenant].evidence(view)
            for one in evidence.contribution.entities
            if one.id == entity and (after is None or row.chunk.id > after)
        ]
        return found[:limit]

    async def chunks_naming(
        self, tenant: TenantId, entities: Sequence[EntityId], *, view: View, limit: int
    ) -> Mapping[EntityId, tuple[ChunkId, ...]]:
        merged = self._merged(tenant, view)
        return {one.id: one.provenance[:limit] for one in merged.entities if one.id in entities and limit > 0}

    async def relationships_of(
        self, tenant: TenantId, entities: Sequence[EntityId], *, view: View, limit: int, chunk_limit: int
    ) -> list[RelationshipView]:
        merged = self._merged(tenant, view)
        heaviest: set[RelationshipId] = set()
        for entity in set(entities):
            own = [one for one in merged.relationships if entity in (one.from_id, one.to_id)]
            heaviest |= {one.id for one in sorted(own, key=lambda one: (-one.weight, one.id))[:limit]}
        return _relationship_views(merged, heaviest, chunk_limit)

    async def relationships(
        self, tenant: TenantId, ids: Sequence[RelationshipId], *, view: View, chunk_limit: int
    ) -> list[RelationshipView]:
        return _relationship_views(self._merged(tenant, view), set(ids), chunk_limit)

    async def surroundings(
        self, tenant: TenantId, *, names: Sequence[str], chunks: Sequence[ChunkId], view: View, hub_mentions: int
    ) -> Surroundings:
        merged = self._merged(tenant, view)
        mentions = {one.id: len(one.provenance) for one in merged.entities}
        mentioned: defaultdict[ChunkId, list[EntityId]] = defaultdict(list)
        for entity in merged.entities:
            for chunk in entity.provenance:
                mentioned[chunk].append(entity.id)
        rows = self._database.tenants[tenant]
        visible = {
            id_
            for id_ in set(chunks) & rows.chunks.keys()
            if may_read(rows.chunks[id_].subjects, view) and matches(rows.sources[rows.chunks[id_].source], view.filter)
        }
        return Surroundings(
            tuple(
                found for name in sorted(set(names)) if (found := _name_surroundings(rows, merged, name, hub_mentions))
            ),
            tuple(
                ChunkSurroundings(id_, tuple((entity, mentions[entity]) for entity in mentioned[id_]))
                for id_ in sorted(visible)
            ),
        )

    async def export_graph(self, tenant: TenantId) -> AsyncIterator[Contribution]:
        merged = self._merged(tenant, View())
        for entity in merged.entities:
            yield Contribution(entities=(entity,))
        for relationship in merged.relationships:
            yield Contribution(relationships=(relationship,))

    def _merged(self, tenant: TenantId, view: View) -> Contribution:
        return merge_contributions(one.contribution for _, one in self._database.tenants[tenant].evidence(view))


def _is_due(evidence: Evidence, stored: Evidence | None) -> bool:
    if stored is None or stored.extraction_key != evidence.extraction_key:
        return True
    return stored.state is ExtractionState.FAILED


def _put(row: ChunkRow, evidence: Evidence) -> None:
    again = row.evidence is not None and row.evidence.extraction_key == evidence.extraction_key
    failures = row.attempts if again else 0
    row.attempts = failures + 1 if evidence.state is ExtractionState.FAILED else 0
    row.evidence = evidence


def _noting_changes(rows: TenantRows, change: Callable[[], None]) -> int:
    """Carry a change out and note what the vector store must follow; how many things are gone after it."""
    before = _known(rows)
    change()
    after = _known(rows)
    entities = _changed(before.entities, after.entities)
    relationships = _changed(before.relationships, after.relationships)
    if entities or relationships:
        sync = PendingSync(new_run_id(), entities, relationships)
        rows.syncs[sync.id] = sync
    gone = (before.entities.keys() - after.entities.keys(), before.relationships.keys() - after.relationships.keys())
    return sum(map(len, gone))


def _known(rows: TenantRows) -> Known:
    entities: defaultdict[EntityId, Audiences] = defaultdict(set)
    relationships: defaultdict[RelationshipId, Audiences] = defaultdict(set)
    for row, evidence in rows.evidence(View()):
        for entity in evidence.contribution.entities:
            entities[entity.id].add(row.subjects)
        for relationship in evidence.contribution.relationships:
            relationships[relationship.id].add(row.subjects)
    return Known(dict(entities), dict(relationships))


def _changed(before: Mapping[_Id, Audiences], after: Mapping[_Id, Audiences]) -> tuple[_Id, ...]:
    return tuple(sorted(id_ for id_ in before.keys() | after.keys() if before.get(id_) != after.get(id_)))


def _union(audiences: Audiences) -> tuple[Subject, ...]:
    return tuple(sorted({subject for audience in audiences for subject in audience}))


def _entity_view(entity: Entity) -> EntityView:
    return EntityView(entity.id, entity.type, entity.name, entity.description, len(entity.provenance))


def _name_surroundings(rows: TenantRows, merged: Contribution, name: str, hub_mentions: int) -> NameSurroundings | None:
    own = [entity for entity in merged.entities if split_entity_id(entity.id)[1] == name]
    if not own:
        return None
    ids, mentions = {entity.id for entity in own}, sum(len(entity.provenance) for entity in own)
    if mentions > hub_mentions:
        return NameSurroundings(name, mentions, tuple(sorted(ids)))
    chunks = sorted({chunk for entity in own for chunk in entity.provenance})
    stored = {id_: rows.chunks[id_].chunk for id_ in chunks}
    return NameSurroundings(
        name,
        mentions,
        tuple(sorted(ids)),
        tuple(chunks),
        tuple(id_ for id_ in chunks if is_about(name, stored[id_].title, stored[id_].headings)),
        tuple((one.id, one.weight) for one in merged.relationships if ids & {one.from_id, one.to_id}),
    )


def _relationship_views(
    merged: Contribution, ids: AbstractSet[RelationshipId], chunk_limit: int
) -> list[RelationshipView]:
    names = {entity.id: entity.name for entity in merged.entities}
    return [
        RelationshipView(
            id=one.id,
            from_id=one.from_id,
            from_name=names[one.from_id],
            to_id=one.to_id,
            to_name=names[one.to_id],
            type=one.type,
            description=one.description,
            weight=one.weight,
            chunks=one.provenance[:chunk_limit],
        )
        for one in merged.relationships
        if one.id in ids
    ]
