"""The vector store follows the graph: entities and relationships get, keep or lose their points."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from knotwork.domain.inputs import entity_text, relationship_text
from knotwork.domain.model import EntityId, RelationshipId, Subject, TenantId
from knotwork.ports.graph_store import GraphStore
from knotwork.ports.models import Embedder
from knotwork.ports.vector_store import Collection, VectorStore, View
from knotwork.services.points import graph_point

Id = TypeVar("Id", EntityId, RelationshipId)

SYNCS = 50  # changes followed at once: each is one transaction of the graph
EMBED_SLICE = 512  # names embedded and written at once: bounds memory


class VectorSync:
    """Follows the changes that the graph notes in its own transactions, so that none is lost by a crash.

    Following reads the present state, not the change, so that doing it again, late, or twice is harmless.
    """

    def __init__(self, graph: GraphStore, vectors: VectorStore, embedder: Embedder) -> None:
        self._graph, self._vectors, self._embedder = graph, vectors, embedder
        self._one_at_a_time = asyncio.Lock()  # a slow writer must not put an older state over a newer one

    async def follow(self, tenant: TenantId) -> None:
        """Return once every change noted before the call is in the vector store, durably."""
        async with self._one_at_a_time:
            while pending := await self._graph.pending_syncs(tenant, SYNCS):
                entities = sorted({id_ for sync in pending for id_ in sync.entities})
                relationships = sorted({id_ for sync in pending for id_ in sync.relationships})
                await self._align_both(tenant, entities, relationships)
                await self._graph.synced(tenant, [sync.id for sync in pending])

    async def align(
        self, tenant: TenantId, entities: Sequence[EntityId], relationships: Sequence[RelationshipId]
    ) -> None:
        """Give these things the points they should have, durably, and take the points of those that are gone."""
        async with self._one_at_a_time:
            await self._align_both(tenant, entities, relationships)

    async def _align_both(
        self, tenant: TenantId, entities: Sequence[EntityId], relationships: Sequence[RelationshipId]
    ) -> None:
        entity_readers, relationship_readers = await self._graph.readers(tenant, entities, relationships)
        await self._align(tenant, Collection.ENTITIES, entities, entity_readers, entity_text)
        await self._align(tenant, Collection.RELATIONSHIPS, relationships, relationship_readers, relationship_text)
        await self._vectors.flush()

    async def _align(
        self,
        tenant: TenantId,
        collection: Collection,
        ids: Sequence[Id],
        readers: Mapping[Id, tuple[Subject, ...]],
        text_of: Callable[[Id], str],
    ) -> None:
        gone = [id_ for id_ in ids if id_ not in readers]
        if gone:
            await self._vectors.delete(tenant, collection, gone)
        present = [id_ for id_ in ids if id_ in readers]
        for start in range(0, len(present), EMBED_SLICE):
            part = present[start : start + EMBED_SLICE]
            stored = {point.id for point in await self._vectors.fetch(tenant, collection, part, view=View())}
            known = [(id_, {"subjects": list(readers[id_])}) for id_ in part if id_ in stored]
            if known:
                await self._vectors.set_payload(tenant, collection, known)
            new = [id_ for id_ in part if id_ not in stored]
            if new:
                vectors = (await self._embedder.embed([text_of(id_) for id_ in new])).vectors
                points = [graph_point(id_, vector, readers[id_]) for id_, vector in zip(new, vectors, strict=True)]
                await self._vectors.upsert(tenant, collection, points)
