"""Mending what an audit found in the graph, from the evidence present."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from knotwork.adapters.neo4j.catalogue import source_key
from knotwork.adapters.neo4j.evidence import ThingWriter
from knotwork.adapters.neo4j.graph_store import EVIDENCE_CHUNKS, mark_row, note_sync
from knotwork.adapters.neo4j.session import Neo4jSession, Transaction
from knotwork.adapters.neo4j.views import source_parameters
from knotwork.domain.damage import Damage, DamageKind
from knotwork.domain.ids import audience_id, key_tenant, storage_key
from knotwork.domain.model import SourceRef, TenantId
from knotwork.ports.vector_store import View

T = TypeVar("T")

UNREAD = frozenset({DamageKind.MISSING_ENTITY, DamageKind.MISSING_FACT, DamageKind.CHANGED_EVIDENCE})
MERGED = frozenset(
    {
        DamageKind.WITHOUT_EVIDENCE,
        DamageKind.WRONG_WEIGHT,
        DamageKind.WRONG_VIEW,
        DamageKind.MISSING_RELATIONSHIP,
        DamageKind.FOREIGN_TENANT,
    }
)


@dataclass(slots=True)
class Touched:
    """Public ids of the things that one transaction merges again."""

    entities: set[str] = field(default_factory=set[str])
    relationships: set[str] = field(default_factory=set[str])

    def add(self, kind: str, ids: Iterable[str]) -> None:
        (self.entities if kind == "entity" else self.relationships).update(ids)


class Mending:
    """Mends the damages of one tenant; each kind in batches, each batch in one transaction."""

    def __init__(self, session: Neo4jSession, tenant: TenantId) -> None:
        self._session, self._tenant = session, tenant

    async def mend(self, damages: Sequence[Damage]) -> None:
        """See `GraphAudit.mend`. Tenants first, as everything after is found by them."""
        by_kind: defaultdict[DamageKind, list[Damage]] = defaultdict(list)
        for damage in damages:
            by_kind[damage.kind].append(damage)
        await self._set_tenants(by_kind[DamageKind.FOREIGN_TENANT])
        if orphans := sorted(damage.id for damage in by_kind[DamageKind.ORPHAN_TEXT]):
            await self._session.execute("write/delete_texts", keys=orphans)
        await self._move(by_kind[DamageKind.WRONG_READERS])
        await self._take_back([one for kind in UNREAD for one in by_kind[kind]], delete=False)
        lost = [damage for damage in by_kind[DamageKind.DANGLING_PROVENANCE] if damage.source is None]
        await self._take_back(lost, delete=True)
        things = [one for kind in MERGED for one in by_kind[kind] if one.of in {"entity", "relationship"}]
        for part in _parts(sorted({(thing.of, thing.id) for thing in things})):
            touched = Touched()
            for of, id_ in part:
                touched.add(of, [id_])
            await self._session.write(lambda tx, touched=touched: self._rebuild(tx, touched))

    async def _set_tenants(self, damages: Iterable[Damage]) -> None:
        keys = sorted({damage.id for damage in damages if damage.of not in {"entity", "relationship", "point"}})
        rows = [{"key": key, "tenant": key_tenant(key)} for key in keys]
        for part in _parts(rows):
            await self._session.execute("write/set_tenants", rows=part)

    async def _move(self, damages: Iterable[Damage]) -> None:
        """Let chunks be read by those who read their source."""
        by_source: defaultdict[SourceRef, list[str]] = defaultdict(list)
        for damage in damages:
            if damage.source is not None:
                by_source[damage.source].append(storage_key(self._tenant, damage.id))
        for ref, keys in sorted(by_source.items()):
            found = await self._session.rows(
                "read/source", key=source_key(self._tenant, ref), **source_parameters(View())
            )
            if not found:
                continue
            subjects: list[str] = found[0]["source"]["subjects"]
            for part in _parts(sorted(keys)):
                await self._session.write(
                    lambda tx, part=part, subjects=subjects: self._set_audience(tx, part, subjects)
                )

    async def _set_audience(self, tx: Transaction, keys: Sequence[str], subjects: Sequence[str]) -> None:
        audience = storage_key(self._tenant, audience_id(subjects))
        await tx.rows("write/set_audience", tenant=self._tenant, audience=audience, subjects=list(subjects), keys=keys)
        await self._rebuild(tx, await self._said(tx, keys))

    async def _take_back(self, damages: Iterable[Damage], *, delete: bool) -> None:
        keys = sorted({storage_key(self._tenant, damage.id) for damage in damages})
        for part in _parts(keys):

            async def work(tx: Transaction, part: Sequence[str] = part) -> None:
                await tx.rows("write/lock_chunks", rows=[{"key": key} for key in part])
                touched = await self._said(tx, part)
                await tx.rows("write/remove_assertions", keys=part)
                await tx.rows("write/remove_mentions", keys=part)
                if delete:
                    await tx.rows("write/delete_chunks", keys=part)
                else:
                    await tx.rows("write/mark_chunks", rows=[mark_row(key, None) for key in part])
                await self._rebuild(tx, touched)

            await self._session.write(work)

    async def _said(self, tx: Transaction, chunk_keys: Sequence[str]) -> Touched:
        """What these chunks name and assert."""
        touched = Touched()
        touched.add("entity", [row["id"] for row in await tx.rows("read/mentions_of_chunks", keys=chunk_keys)])
        touched.add("fact", [row["id"] for row in await tx.rows("read/assertions_of_chunks", keys=chunk_keys)])
        return touched

    async def _rebuild(self, tx: Transaction, touched: Touched) -> None:
        """Merge things again from all evidence; entities go last, as relationships hang on them."""
        entities, facts = ThingWriter(tx, self._tenant, "entity"), ThingWriter(tx, self._tenant, "fact")
        await entities.lock(sorted(touched.entities), trusted=False)
        await facts.lock(sorted(touched.relationships), trusted=False)
        fact_outcome = await facts.rebuild()
        await note_sync(tx, self._tenant, await entities.rebuild(), fact_outcome)


def _parts(values: Sequence[T]) -> Iterator[list[T]]:
    return ([*values[start : start + EVIDENCE_CHUNKS]] for start in range(0, len(values), EVIDENCE_CHUNKS))
