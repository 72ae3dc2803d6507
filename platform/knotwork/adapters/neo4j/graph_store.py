"""GraphStore over Neo4j 5.26 or later: the writing half; reading stands in graph_reads.py."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from knotwork.adapters.neo4j.evidence import EvidenceChange, Outcome
from knotwork.adapters.neo4j.graph_reads import Neo4jGraphReads
from knotwork.adapters.neo4j.order import order_id
from knotwork.adapters.neo4j.session import Row, Transaction
from knotwork.domain.catalogue import UNKNOWN_FAILURE, Evidence, ExtractionFailure, ExtractionState, GraphChange
from knotwork.domain.damage import contribution_seal
from knotwork.domain.evidence import checked_evidence
from knotwork.domain.ids import audience_id, split_entity_id, split_relationship_id, storage_key
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
from knotwork.errors import ProvenanceMissing
from knotwork.ports.graph_store import PendingSync
from knotwork.run_ids import new_run_id

FINAL = (ExtractionState.DONE, ExtractionState.EMPTY)
EVIDENCE_CHUNKS = 500  # chunks a transaction: bounds its memory, and how long hub entities stay locked


class Neo4jGraphStore(Neo4jGraphReads):
    """GraphStore over Neo4j. Whoever opened the driver closes it."""

    async def put_evidence(self, tenant: TenantId, evidence: Sequence[Evidence]) -> GraphChange:
        entities: set[EntityId] = set()
        relationships: set[RelationshipId] = set()
        pruned = 0
        rows = sorted(checked_evidence(evidence), key=lambda one: storage_key(tenant, one.chunk_id))
        for start in range(0, len(rows), EVIDENCE_CHUNKS):
            part = rows[start : start + EVIDENCE_CHUNKS]

            async def work(tx: Transaction, part: Sequence[Evidence] = part) -> tuple[list[Evidence], int]:
                return await self._put(tx, tenant, part)

            written, lost = await self._session.write(work)
            pruned += lost
            entities.update(entity.id for one in written for entity in one.contribution.entities)
            relationships.update(relationship.id for one in written for relationship in one.contribution.relationships)
        return GraphChange(len(entities), len(relationships), pruned)

    async def remove_evidence(self, tenant: TenantId, chunks: Sequence[ChunkId]) -> GraphChange:
        return await self._remove_in_batches(tenant, chunks, delete=False)

    async def remove_chunks(self, tenant: TenantId, chunks: Sequence[ChunkId]) -> GraphChange:
        return await self._remove_in_batches(tenant, chunks, delete=True)

    async def move_chunks(self, tenant: TenantId, chunks: Sequence[ChunkId], subjects: Sequence[Subject]) -> None:
        audience = storage_key(tenant, audience_id(subjects))
        for start in range(0, len(chunks), EVIDENCE_CHUNKS):
            part = chunks[start : start + EVIDENCE_CHUNKS]

            async def work(tx: Transaction, part: Sequence[ChunkId] = part) -> None:
                stored = await self._lock_chunks(tx, tenant, part)
                keys = sorted(row["key"] for row in stored.values() if row["audience"] != audience)
                if not keys:
                    return
                change = EvidenceChange(tx, tenant)
                await change.move(keys, audience, sorted(set(subjects)))
                await note_sync(tx, tenant, *await change.settle())

            await self._session.write(work)

    async def synced(self, tenant: TenantId, ids: Sequence[str]) -> None:
        await self._session.execute("write/delete_syncs", keys=[storage_key(tenant, id_) for id_ in ids])

    async def pending_syncs(self, tenant: TenantId, limit: int = 100) -> list[PendingSync]:
        rows = await self._session.rows("read/pending_syncs", tenant=tenant, limit=limit)
        return [PendingSync(row["id"], tuple(row["entities"]), tuple(row["relationships"])) for row in rows]

    async def contributions(self, tenant: TenantId, keys: Sequence[str]) -> Mapping[str, Evidence]:
        async def work(tx: Transaction) -> dict[str, Evidence]:
            known = await tx.rows("read/chunks_with_extraction", tenant=tenant, keys=sorted(set(keys)))
            # Locked, lest half of what a chunk says is read while a writer takes it back.
            holders = [ChunkId(row["chunk_id"]) for row in known if row["chunk_id"] is not None]
            locked = await self._lock_chunks(tx, tenant, holders)
            held = {id_: row for id_, row in locked.items() if row["state"] in FINAL and row["extraction_key"] in keys}
            by_chunk = await contributions_of(tx, [row["key"] for row in held.values()])
            return {
                row["extraction_key"]: Evidence(
                    id_, row["extraction_key"], ExtractionState(row["state"]), by_chunk[row["key"]]
                )
                for id_, row in held.items()
            }

        return await self._session.write(work)

    async def evidence(self, tenant: TenantId, chunks: Sequence[ChunkId]) -> Mapping[ChunkId, Evidence]:
        id_of = {storage_key(tenant, chunk): chunk for chunk in chunks}

        async def work(tx: Transaction) -> dict[ChunkId, Evidence]:
            read = await tx.rows_of("read/extraction_states", "keys", sorted(id_of))
            said = await contributions_of(tx, [row["key"] for row in read])
            return {
                id_of[row["key"]]: Evidence(
                    id_of[row["key"]],
                    row["extraction_key"],
                    ExtractionState(row["state"]),
                    said[row["key"]],
                    ExtractionFailure(row["error_code"], row["error"]) if row["error_code"] else None,
                )
                for row in read
            }

        return await self._session.read(work)

    async def _lock_chunks(self, tx: Transaction, tenant: TenantId, chunks: Iterable[ChunkId]) -> dict[ChunkId, Row]:
        id_of = {storage_key(tenant, chunk): chunk for chunk in chunks}
        rows = await tx.rows_of("write/lock_chunks", "rows", [{"key": key} for key in sorted(id_of)])
        return {id_of[row["key"]]: row for row in rows if row["audience"] is not None}  # null: removed meanwhile

    async def _put(self, tx: Transaction, tenant: TenantId, evidence: Sequence[Evidence]) -> tuple[list[Evidence], int]:
        """Store one batch; what was due of it, and how many things that pruned (by taking earlier evidence back)."""
        stored = await self._lock_chunks(tx, tenant, [one.chunk_id for one in evidence])
        if missing := {one.chunk_id for one in evidence} - stored.keys():
            raise ProvenanceMissing(found=len(evidence) - len(missing), expected=len(evidence))
        due = [one for one in evidence if _is_due(one, stored[one.chunk_id])]
        if not due:
            return [], 0
        change = EvidenceChange(tx, tenant)
        stale = (stored[one.chunk_id] for one in due)
        await change.remove(sorted(row["key"] for row in stale if row["extraction_key"] is not None))
        for one in due:
            chunk = stored[one.chunk_id]
            change.add(chunk["key"], chunk["audience"], one.contribution)
        outcomes = await change.settle()
        await self._mark(tx, {stored[one.chunk_id]["key"]: one for one in due})
        await note_sync(tx, tenant, *outcomes)
        return due, sum(len(outcome.pruned) for outcome in outcomes)

    async def _remove_in_batches(self, tenant: TenantId, chunks: Sequence[ChunkId], *, delete: bool) -> GraphChange:
        pruned = 0
        for start in range(0, len(chunks), EVIDENCE_CHUNKS):
            part = chunks[start : start + EVIDENCE_CHUNKS]

            async def work(tx: Transaction, part: Sequence[ChunkId] = part) -> int:
                stored = await self._lock_chunks(tx, tenant, part)
                keys = sorted(row["key"] for row in stored.values())
                change = EvidenceChange(tx, tenant)
                await change.remove(keys)
                outcomes = await change.settle()
                if delete:
                    await tx.rows_of("write/delete_chunks", "keys", keys)
                else:
                    await self._mark(tx, dict.fromkeys(keys))
                await note_sync(tx, tenant, *outcomes)
                return sum(len(outcome.pruned) for outcome in outcomes)

            pruned += await self._session.write(work)
        return GraphChange(pruned=pruned)

    async def _mark(self, tx: Transaction, chunks: Mapping[str, Evidence | None]) -> None:
        """Say by chunk key what evidence each has now, sealed so that a loss shows."""
        await tx.rows_of("write/mark_chunks", "rows", [mark_row(key, chunks[key]) for key in sorted(chunks)])


def _is_due(evidence: Evidence, stored: Row) -> bool:
    return stored["extraction_key"] != evidence.extraction_key or stored["state"] == ExtractionState.FAILED


def mark_row(chunk_key: str, evidence: Evidence | None) -> dict[str, object]:
    """A row of write/mark_chunks; None: no evidence."""
    failure: ExtractionFailure | None = None
    if evidence and evidence.state is ExtractionState.FAILED:
        failure = evidence.failure or UNKNOWN_FAILURE
    return {
        "key": chunk_key,
        "extraction_key": evidence.extraction_key if evidence else None,
        "extraction_state": (evidence.state if evidence else ExtractionState.NONE).value,
        "evidence_seal": contribution_seal(evidence.contribution) if evidence else None,
        "failed_id": (order_id(evidence.chunk_id) or evidence.chunk_id) if evidence and failure else None,
        "error_code": failure.code if failure else None,
        "error": failure.message if failure else None,
    }


async def note_sync(tx: Transaction, tenant: TenantId, entities: Outcome, facts: Outcome) -> None:
    """Note in the outbox which points must follow this transaction."""
    if not entities.readers_changed and not facts.readers_changed:
        return
    id_ = new_run_id()
    await tx.rows(
        "write/add_sync",
        tenant=tenant,
        key=storage_key(tenant, id_),
        id=id_,
        entities=list(entities.readers_changed),
        relationships=list(facts.readers_changed),
    )


async def contributions_of(tx: Transaction, chunk_keys: Sequence[str]) -> dict[str, Contribution]:
    """The contribution of each chunk, read back from its evidence."""
    entities: defaultdict[str, list[Entity]] = defaultdict(list)
    relationships: defaultdict[str, list[Relationship]] = defaultdict(list)
    for row in await tx.rows_of("read/mentions_of_chunks", "keys", chunk_keys):
        entities[row["chunk_key"]].append(
            Entity(
                id=EntityId(row["id"]),
                type=split_entity_id(EntityId(row["id"]))[0],
                name=row["name"],
                description=row["description"],
                surface_forms=tuple(row["surface_forms"]),
                provenance=(ChunkId(row["chunk_id"]),),
            )
        )
    for row in await tx.rows_of("read/assertions_of_chunks", "keys", chunk_keys):
        id_ = RelationshipId(row["id"])
        from_id, type_, to_id = split_relationship_id(id_)
        relationships[row["chunk_key"]].append(
            Relationship(id_, from_id, to_id, type_, row["description"], (ChunkId(row["chunk_id"]),))
        )
    return {
        key: Contribution(
            tuple(sorted(entities[key], key=lambda entity: entity.id)),
            tuple(sorted(relationships[key], key=lambda relationship: relationship.id)),
        )
        for key in chunk_keys
    }
