"""The reading half of the graph store: entities, relationships and evidence as one view shows them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence

from knotwork.adapters.neo4j.evidence import known_of
from knotwork.adapters.neo4j.order import order_id
from knotwork.adapters.neo4j.session import Row
from knotwork.adapters.neo4j.views import evidence_parameters
from knotwork.adapters.neo4j.walk_reads import Neo4jWalkReads
from knotwork.domain.audiences import Known, from_evidence, visible
from knotwork.domain.graph_views import EntityView, MentionView, RelationshipView
from knotwork.domain.ids import split_entity_id, split_relationship_id, storage_key
from knotwork.domain.model import (
    ChunkId,
    Contribution,
    Entity,
    EntityId,
    Relationship,
    RelationshipId,
    Subject,
    TenantId,
)
from knotwork.ports.vector_store import View

EXPORT_PAGE = 500
SEARCH_PAGE = 100  # entities looked at together, at least: a reader may see few of them
LAST_NAME = "\U0010ffff" * 256  # no name is longer than 256 characters, so none sorts after it


class Neo4jGraphReads(Neo4jWalkReads):
    """Reads of GraphStore over Neo4j 5.26 or later."""

    async def _rows(self, name: str, **parameters: object) -> list[Row]:
        return _whole(await self._session.rows(name, **parameters))

    async def readers(
        self, tenant: TenantId, entities: Sequence[EntityId], relationships: Sequence[RelationshipId]
    ) -> tuple[Mapping[EntityId, tuple[Subject, ...]], Mapping[RelationshipId, tuple[Subject, ...]]]:
        entity_rows = await self._rows("read/entity_audiences", keys=_keys(tenant, entities))
        relationship_rows = await self._rows("read/relationship_audiences", keys=_keys(tenant, relationships))
        keys = sorted({audience for row in [*entity_rows, *relationship_rows] for audience in row["audiences"]})
        subjects = {row["key"]: row["subjects"] for row in await self._rows("read/audiences", keys=keys)}

        def readers_of(row: Row) -> tuple[Subject, ...]:
            return tuple(sorted({subject for audience in row["audiences"] for subject in subjects.get(audience, ())}))

        return (
            {EntityId(row["id"]): readers_of(row) for row in entity_rows},
            {RelationshipId(row["id"]): readers_of(row) for row in relationship_rows},
        )

    async def entities_named(self, tenant: TenantId, names: Sequence[str], *, view: View) -> list[EntityView]:
        rows = await self._rows("read/entity_keys_named", tenant=tenant, names=sorted(set(names)))
        if not rows:
            return []
        audiences = await self._audiences(tenant, view)
        return await self._visible_entities([row["key"] for row in rows], view, audiences)

    async def entities(self, tenant: TenantId, ids: Sequence[EntityId], *, view: View) -> list[EntityView]:
        if not ids:
            return []
        return await self._visible_entities(_keys(tenant, ids), view, await self._audiences(tenant, view))

    async def search_entities(
        self, tenant: TenantId, prefix: str, *, view: View, after: EntityId | None = None, limit: int = 100
    ) -> list[EntityView]:
        name, id_ = (split_entity_id(after)[1], str(after)) if after else ("", "")
        if name < prefix:  # also when `after` stands before all that start so
            name, id_ = prefix, ""
        found: list[EntityView] = []
        size, audiences = max(limit, SEARCH_PAGE), await self._audiences(tenant, view)
        while len(found) < limit:
            rows = await self._session.rows(
                "read/entity_keys_by_prefix",
                tenant=tenant,
                after_name=name,
                after_id=id_,
                until=prefix + LAST_NAME,
                limit=size,
            )
            page = _whole(rows)
            keys = [row["key"] for row in page]
            by_id = {one.id: one for one in await self._visible_entities(keys, view, audiences)}
            found += [by_id[row["id"]] for row in page if row["id"] in by_id]
            if len(rows) < size:
                break
            if page:
                name, id_ = page[-1]["name_key"], page[-1]["id"]
        return found[:limit]

    async def _visible_entities(
        self, keys: Sequence[str], view: View, audiences: frozenset[str] | None
    ) -> list[EntityView]:
        if not keys:
            return []
        if view.filter is None or not view.filter.conditions:
            rows = await self._rows("read/entities", keys=sorted(keys))
            seen = [(row, visible(known_of(row), audiences)) for row in rows]
        else:
            rows = await self._rows("read/entities_filtered", keys=sorted(keys), **evidence_parameters(view, audiences))
            seen = [(row, from_evidence(row["count"], row["names"], row["descriptions"])) for row in rows]
        return sorted((_entity_view(row, known) for row, known in seen if known), key=lambda entity: entity.id)

    async def _audiences(self, tenant: TenantId, view: View) -> frozenset[str] | None:
        """The audiences that the reader belongs to; None: all."""
        if view.subjects is None:
            return None
        rows = await self._rows("read/visible_audiences", tenant=tenant, subjects=list(view.subjects))
        return frozenset(row["key"] for row in rows)

    async def mentions(
        self, tenant: TenantId, entity: EntityId, *, view: View, after: ChunkId | None = None, limit: int = 100
    ) -> list[MentionView]:
        rows = await self._rows(
            "read/mentions",
            key=storage_key(tenant, entity),
            after=(order_id(after) or after) if after else "",
            limit=limit,
            **evidence_parameters(view, await self._audiences(tenant, view)),
        )
        return [
            MentionView(ChunkId(row["chunk_id"]), row["name"], tuple(row["surface_forms"]), row["description"])
            for row in rows
        ]

    async def chunks_naming(
        self, tenant: TenantId, entities: Sequence[EntityId], *, view: View, limit: int
    ) -> Mapping[EntityId, tuple[ChunkId, ...]]:
        rows = await self._rows(
            "read/chunks_naming",
            keys=_keys(tenant, entities),
            limit=limit,
            **evidence_parameters(view, await self._audiences(tenant, view)),
        )
        return {EntityId(row["id"]): tuple(ChunkId(id_) for id_ in row["chunks"]) for row in rows if row["chunks"]}

    async def relationships_of(
        self, tenant: TenantId, entities: Sequence[EntityId], *, view: View, limit: int, chunk_limit: int
    ) -> list[RelationshipView]:
        keys = _keys(tenant, entities)
        audiences = await self._audiences(tenant, view)
        if view.filter is None or not view.filter.conditions:
            rows = await self._rows(
                "read/relationship_keys_of",
                keys=keys,
                audiences=None if audiences is None else sorted(audiences),
                limit=limit,
            )
        else:
            rows = await self._rows(
                "read/relationship_keys_of_filtered", keys=keys, limit=limit, **evidence_parameters(view, audiences)
            )
        return await self._visible_relationships(tenant, [row["key"] for row in rows], view, chunk_limit, audiences)

    async def relationships(
        self, tenant: TenantId, ids: Sequence[RelationshipId], *, view: View, chunk_limit: int
    ) -> list[RelationshipView]:
        if not ids:
            return []
        audiences = await self._audiences(tenant, view)
        return await self._visible_relationships(tenant, _keys(tenant, ids), view, chunk_limit, audiences)

    async def _visible_relationships(
        self,
        tenant: TenantId,
        keys: Sequence[str],
        view: View,
        chunk_limit: int,
        audiences: frozenset[str] | None,
    ) -> list[RelationshipView]:
        if not keys:
            return []
        rows = await self._rows(
            "read/relationships",
            keys=sorted(keys),
            chunk_limit=chunk_limit,
            **evidence_parameters(view, audiences),
        )
        ends = _keys(tenant, [row[end] for row in rows for end in ("from_id", "to_id")])
        names = {entity.id: entity.name for entity in await self._visible_entities(ends, view, audiences)}
        return sorted((_relationship_view(row, names) for row in rows), key=lambda relationship: relationship.id)

    async def export_graph(self, tenant: TenantId) -> AsyncIterator[Contribution]:
        after = ""
        while rows := await self._session.rows("read/export_entities", tenant=tenant, after=after, limit=EXPORT_PAGE):
            if entities := sorted(map(_exported_entity, _whole(rows)), key=lambda entity: entity.id):
                yield Contribution(entities=tuple(entities))
            after = max(row["id"] for row in rows)
        after = ""
        while rows := await self._session.rows(
            "read/export_relationships", tenant=tenant, after=after, limit=EXPORT_PAGE
        ):
            if facts := sorted(map(_exported_relationship, _whole(rows)), key=lambda relationship: relationship.id):
                yield Contribution(relationships=tuple(facts))
            after = max(row["id"] for row in rows)


def _whole(rows: Sequence[Row]) -> list[Row]:
    """Rows without a null: one with a null is of a thing that went while it was read."""
    return [row for row in rows if None not in row.values()]


def _keys(tenant: TenantId, ids: Sequence[str]) -> list[str]:
    return sorted({storage_key(tenant, id_) for id_ in ids})


def _entity_view(row: Row, known: Known) -> EntityView:
    return EntityView(EntityId(row["id"]), row["type"], known.name, known.description, known.count)


def _relationship_view(row: Row, names: Mapping[EntityId, str]) -> RelationshipView:
    known = from_evidence(row["weight"], (), row["descriptions"])
    from_id, to_id = EntityId(row["from_id"]), EntityId(row["to_id"])
    return RelationshipView(
        id=RelationshipId(row["id"]),
        from_id=from_id,
        from_name=names.get(from_id, split_entity_id(from_id)[1]),
        to_id=to_id,
        to_name=names.get(to_id, split_entity_id(to_id)[1]),
        type=row["type"],
        description=known.description if known else "",
        weight=row["weight"],
        chunks=tuple(ChunkId(id_) for id_ in row["chunks"]),
    )


def _exported_entity(row: Row) -> Entity:
    return Entity(
        id=EntityId(row["id"]),
        type=row["type"],
        name=row["name"],
        description=row["description"],
        surface_forms=tuple(sorted({form for forms in row["surface_forms"] for form in forms})),
        provenance=tuple(sorted(ChunkId(id_) for id_ in row["chunks"])),
    )


def _exported_relationship(row: Row) -> Relationship:
    id_ = RelationshipId(row["id"])
    from_id, type_, to_id = split_relationship_id(id_)
    return Relationship(id_, from_id, to_id, type_, row["description"], tuple(sorted(map(ChunkId, row["chunks"]))))
