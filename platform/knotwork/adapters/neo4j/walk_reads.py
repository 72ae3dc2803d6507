"""The reads of a walk over the graph: what is around names and chunks, one statement a step."""

from __future__ import annotations

from collections.abc import Sequence

from knotwork.adapters.neo4j.session import Neo4jSession, Row
from knotwork.adapters.neo4j.views import source_parameters
from knotwork.domain.ids import storage_key
from knotwork.domain.model import ChunkId, EntityId, RelationshipId, TenantId
from knotwork.domain.surroundings import ChunkSurroundings, NameSurroundings, Surroundings, is_about
from knotwork.ports.vector_store import View


class Neo4jWalkReads:
    """The part of GraphStore that walks need, over Neo4j 5.26 or later."""

    def __init__(self, session: Neo4jSession) -> None:
        self._session = session

    async def surroundings(
        self, tenant: TenantId, *, names: Sequence[str], chunks: Sequence[ChunkId], view: View, hub_mentions: int
    ) -> Surroundings:
        parameters = source_parameters(view)
        is_filtered = bool(parameters["conditions"])
        if not is_filtered:
            del parameters["conditions"]
        [row] = await self._session.rows(
            "read/surroundings_filtered" if is_filtered else "read/surroundings",
            tenant=tenant,
            names=sorted(set(names)),
            chunks=sorted({storage_key(tenant, chunk) for chunk in chunks}),
            hub_mentions=hub_mentions,
            **parameters,
        )
        return Surroundings(
            tuple(sorted(map(_name_from, row["names"]), key=lambda one: one.name)),
            tuple(sorted(map(_chunk_from, row["chunks"]), key=lambda one: one.id)),
        )


def _name_from(row: Row) -> NameSurroundings:
    return NameSurroundings(
        name=row["name"],
        mentions=row["mentions"],
        entities=tuple(sorted(map(EntityId, row["entities"]))),
        chunks=tuple(sorted(ChunkId(chunk["id"]) for chunk in row["chunks"])),
        about=tuple(
            sorted(
                ChunkId(chunk["id"])
                for chunk in row["chunks"]
                if is_about(row["name"], chunk["title"] or "", chunk["headings"] or ())
            )
        ),
        facts=tuple(sorted((RelationshipId(id_), weight) for id_, weight in row["facts"])),
    )


def _chunk_from(row: Row) -> ChunkSurroundings:
    return ChunkSurroundings(
        ChunkId(row["id"]), tuple(sorted((EntityId(id_), mentions) for id_, mentions in row["entities"]))
    )
