"""Catalogue over Neo4j 5.26 or later: tenants, sources with text, chunks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from operator import itemgetter
from typing import Any

from knotwork.adapters.neo4j.order import order_id
from knotwork.adapters.neo4j.session import Neo4jSession, Row, Transaction
from knotwork.adapters.neo4j.texts import put_texts, unpack_text
from knotwork.adapters.neo4j.views import source_parameters
from knotwork.domain.catalogue import (
    ExtractionFailure,
    ExtractionState,
    FailedChunk,
    SourceState,
    StoredChunk,
    TenantSettings,
)
from knotwork.domain.filters import Scalar
from knotwork.domain.ids import audience_id, source_public_id, storage_key
from knotwork.domain.model import ChunkId, Metadata, MetadataValue, ParsedText, Source, SourceRef, TenantId
from knotwork.domain.navigation import outline_headings
from knotwork.errors import UnknownTenant
from knotwork.ports.catalogue import SourceWrite
from knotwork.ports.vector_store import View

DELETE_ROWS = 5_000  # rows a transaction when a tenant goes: bounds its memory
TENANT_ID = "tenant"  # the id under which a tenant's own node is keyed


class Neo4jCatalogue:
    """Catalogue over Neo4j. Whoever opened the driver closes it."""

    def __init__(self, session: Neo4jSession) -> None:
        self._session = session

    async def put_tenant(self, tenant: TenantId, settings: TenantSettings) -> None:
        await self._session.execute(
            "write/put_tenant",
            key=storage_key(tenant, TENANT_ID),
            tenant=tenant,
            settings=_settings_json(settings),
        )

    async def settings_due(self) -> list[TenantId]:
        return sorted(TenantId(row["tenant"]) for row in await self._session.rows("read/tenants_settings_due"))

    async def settings_followed(self, tenant: TenantId, settings: TenantSettings) -> None:
        key = storage_key(tenant, TENANT_ID)
        await self._session.execute("write/clear_settings_due", key=key, settings=_settings_json(settings))

    async def tenant(self, tenant: TenantId) -> TenantSettings:
        rows = await self._session.rows("read/tenant", key=storage_key(tenant, TENANT_ID))
        if not rows:
            raise UnknownTenant(tenant)
        return TenantSettings(**json.loads(rows[0]["settings"]))

    async def tenants(self) -> list[TenantId]:
        return sorted(TenantId(row["tenant"]) for row in await self._session.rows("read/tenants"))

    async def delete_tenant(self, tenant: TenantId) -> None:
        key = storage_key(tenant, TENANT_ID)
        while (await self._session.execute("write/delete_tenant_rows", key=key, tenant=tenant, limit=DELETE_ROWS))[0][
            "deleted"
        ]:
            pass

    async def source(self, tenant: TenantId, ref: SourceRef, *, view: View) -> Source | None:
        rows = await self._session.rows("read/source", key=source_key(tenant, ref), **source_parameters(view))
        return source_from(rows[0]["source"], rows[0]["chunks"]) if rows else None

    async def sources(
        self, tenant: TenantId, *, view: View, after: SourceRef | None = None, limit: int = 100
    ) -> list[Source]:
        rows = await self._session.rows(
            "read/sources",
            tenant=tenant,
            after_type=after.type if after else "",
            after_id=after.id if after else "",
            limit=limit,
            **source_parameters(view),
        )
        return [source_from(row["source"], row["chunks"]) for row in rows]

    async def text(self, tenant: TenantId, ref: SourceRef) -> ParsedText | None:
        return unpack_text(await self._session.rows("read/text", owner=source_key(tenant, ref)))

    async def states(self, tenant: TenantId, refs: Sequence[SourceRef]) -> Mapping[SourceRef, SourceState]:
        rows = await self._session.rows("read/source_states", keys=sorted({source_key(tenant, ref) for ref in refs}))
        states: dict[SourceRef, SourceState] = {}
        for row in rows:
            source = source_from(row["source"], len(row["chunks"]))
            chunks = sorted((chunk_from(chunk) for chunk in row["chunks"]), key=lambda chunk: (chunk.index, chunk.id))
            states[source.ref] = SourceState(source, tuple(chunks))
        return states

    async def put_sources(self, tenant: TenantId, writes: Sequence[SourceWrite]) -> None:
        sources: list[dict[str, Any]] = []
        texts: list[tuple[str, ParsedText]] = []
        chunks: list[dict[str, Any]] = []
        links: list[dict[str, Any]] = []
        for write in writes:
            key = source_key(tenant, write.source.ref)
            audience = storage_key(tenant, audience_id(write.source.auth_subjects))
            subjects = sorted(set(write.source.auth_subjects))
            values = source_values(tenant, write.source) | {"key": key}
            headings = outline_headings(write.parsed) if write.parsed else None
            row = {"key": key, "values": values, "audience": audience, "subjects": subjects, "headings": headings}
            sources.append(row)
            if write.parsed is not None:
                texts.append((key, write.parsed))
            in_order = [storage_key(tenant, chunk.id) for chunk in sorted(write.chunks, key=lambda one: one.index)]
            links += [{"key": one, "next": next_} for one, next_ in zip(in_order, [*in_order[1:], None], strict=False)]
            for chunk in write.chunks:
                values = chunk_values(tenant, chunk)
                chunk_key = storage_key(tenant, chunk.id)
                chunks.append({"key": chunk_key, "source": key, "audience": audience, "values": values})

        async def work(tx: Transaction) -> None:
            await tx.rows_of("write/put_sources", "rows", sorted(sources, key=itemgetter("key")), tenant=tenant)
            await put_texts(tx, tenant, texts)
            await tx.rows_of("write/put_chunks", "rows", sorted(chunks, key=itemgetter("key")))
            await tx.rows_of("write/link_chunks", "rows", sorted(links, key=itemgetter("key")))

        await self._session.write(work)

    async def delete_sources(self, tenant: TenantId, refs: Sequence[SourceRef]) -> None:
        await self._session.execute("write/delete_sources", keys=sorted({source_key(tenant, ref) for ref in refs}))

    async def chunk_with_embedding(self, tenant: TenantId, keys: Sequence[str]) -> Mapping[str, ChunkId]:
        rows = await self._session.rows("read/chunks_with_embedding", tenant=tenant, keys=sorted(set(keys)))
        return {row["embedding_key"]: ChunkId(row["chunk_id"]) for row in rows}

    async def set_embedding_keys(self, tenant: TenantId, keys: Mapping[ChunkId, str]) -> None:
        rows = [{"key": storage_key(tenant, id_), "embedding_key": key} for id_, key in keys.items()]
        await self._session.execute("write/set_embedding_keys", rows=sorted(rows, key=itemgetter("key")))

    async def held_chunks(self, tenant: TenantId, ids: Sequence[ChunkId]) -> set[ChunkId]:
        id_of = {storage_key(tenant, id_): id_ for id_ in ids}
        rows = await self._session.rows("read/held_chunks", keys=sorted(id_of))
        return {id_of[row["key"]] for row in rows}

    async def counts(self, tenant: TenantId) -> Mapping[str, int]:
        return dict((await self._session.rows("read/counts", tenant=tenant))[0])

    async def failed_chunks(
        self, tenant: TenantId, *, view: View, after: ChunkId | None = None, limit: int = 100
    ) -> list[FailedChunk]:
        start = order_id(after) or after if after else ""
        parameters = source_parameters(view)
        rows = await self._session.rows("read/failed_chunks", tenant=tenant, after=start, limit=limit, **parameters)
        return [
            FailedChunk(
                ChunkId(row["id"]),
                SourceRef(row["source_type"], row["source_id"]),
                row["index"],
                row["attempts"],
                ExtractionFailure(row["error_code"], row["error"]),
            )
            for row in rows
        ]


def _settings_json(settings: TenantSettings) -> str:
    return json.dumps(asdict(settings), sort_keys=True)


def source_key(tenant: TenantId, ref: SourceRef) -> str:
    """The key of a source's node."""
    return storage_key(tenant, f"source {source_public_id(ref)}")


def source_values(tenant: TenantId, source: Source) -> dict[str, object]:
    """The properties of a source's node. Metadata stands there twice: as JSON, exact, and as lists, for filters."""
    return {
        "tenant": tenant,
        "type": source.ref.type,
        "id": source.ref.id,
        "title": source.title,
        "content_hash": source.content_hash,
        "subjects": sorted(set(source.auth_subjects)),
        "media_type": source.media_type,
        "graph": source.graph,
        "size_chars": source.size_chars,
        "metadata": json.dumps(source.metadata, sort_keys=True, ensure_ascii=False),
        **{f"metadata.{name}": _filterable(value) for name, value in source.metadata.items()},
    }


def _filterable(value: MetadataValue) -> list[str] | list[float] | list[int] | list[bool]:
    """A value as a list of one type, as the database stores lists; there, as in Python, 2 equals 2.0."""
    values: list[Scalar] = [value] if isinstance(value, str | int | float) else list(value)
    if all(isinstance(one, bool) for one in values):
        return [bool(one) for one in values]
    if any(isinstance(one, str) for one in values):
        return [str(one) for one in values]
    if all(isinstance(one, int) for one in values):
        return [int(one) for one in values]
    return [float(one) for one in values]


def source_from(values: Row, chunks: int) -> Source:
    """A source from the properties of its node."""
    metadata: Metadata = json.loads(values["metadata"])
    return Source(
        ref=SourceRef(values["type"], values["id"]),
        title=values["title"],
        content_hash=values["content_hash"],
        auth_subjects=tuple(values["subjects"]),
        metadata=metadata,
        media_type=values["media_type"],
        graph=values.get("graph"),
        chunks=chunks,
        size_chars=values["size_chars"],
    )


def chunk_values(tenant: TenantId, chunk: StoredChunk) -> dict[str, object]:
    """The properties of a chunk's node that its source decides; evidence has its own."""
    return {
        "tenant": tenant,
        "id": chunk.id,
        "order_id": order_id(chunk.id),
        "index": chunk.index,
        "start": chunk.start,
        "end": chunk.end,
        "content_hash": chunk.content_hash,
        "title": chunk.title,
        "headings": list(chunk.headings),
        "page": chunk.page,
        "preview": chunk.preview,
        "embedding_key": chunk.embedding_key,
    }


def chunk_from(values: Row) -> StoredChunk:
    """A chunk from the properties of its node."""
    return StoredChunk(
        id=ChunkId(values["id"]),
        index=values["index"],
        start=values["start"],
        end=values["end"],
        content_hash=values["content_hash"],
        title=values["title"],
        headings=tuple(values["headings"]),
        page=values.get("page"),
        preview=values["preview"],
        embedding_key=values["embedding_key"],
        extraction_key=values.get("extraction_key"),
        extraction_state=ExtractionState(values["extraction_state"]),
    )
