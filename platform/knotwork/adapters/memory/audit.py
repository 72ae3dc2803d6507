"""GraphAudit in memory, where merged things are computed when asked and so never differ from their evidence."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import asdict

from knotwork.adapters.memory.database import MemoryDatabase
from knotwork.domain.damage import Damage, DamageKind, StoredText
from knotwork.domain.model import ParsedText, TenantId


class MemoryAudit:
    """GraphAudit over a MemoryDatabase."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._database = database

    async def damages(self, tenant: TenantId) -> AsyncIterator[Damage]:
        rows = self._database.tenants[tenant]
        for id_, row in sorted(rows.chunks.items()):
            source = rows.sources.get(row.source)
            if source is None:
                yield Damage(DamageKind.DANGLING_PROVENANCE, "chunk", id_, "its source is gone")
            elif row.subjects != source.auth_subjects:
                yield Damage(DamageKind.WRONG_READERS, "chunk", id_, "read by others than its source", row.source)

    async def mend(self, tenant: TenantId, damages: Sequence[Damage]) -> None:
        rows = self._database.tenants[tenant]
        for damage in damages:
            row = next((row for id_, row in rows.chunks.items() if id_ == damage.id), None)
            if row is None:
                continue
            if damage.kind is DamageKind.DANGLING_PROVENANCE and damage.source is None:
                del rows.chunks[row.chunk.id]
            elif damage.kind is DamageKind.WRONG_READERS:
                row.subjects = rows.sources[row.source].auth_subjects

    async def texts(self, tenant: TenantId) -> AsyncIterator[StoredText]:
        rows = self._database.tenants[tenant]
        for ref, source in rows.sources.items():
            for found in _texts(f"source {ref.id}", {**asdict(source), "content": _text(rows.texts.get(ref))}):
                yield found
        for id_, row in rows.chunks.items():
            evidence = asdict(row.evidence) if row.evidence else ""
            for found in _texts(f"chunk {id_}", {"chunk": asdict(row.chunk), "evidence": evidence}):
                yield found
        for run_id, run in rows.runs.items():
            for found in _texts(f"run {run_id}", {"run": asdict(run), "content": _text(rows.run_texts.get(run_id))}):
                yield found
        for name, graph in rows.skill_graphs.items():
            for found in _texts(f"skill graph {name}", asdict(graph)):
                yield found
        for sync_id, sync in rows.syncs.items():
            for found in _texts(f"sync {sync_id}", asdict(sync)):
                yield found


def _text(parsed: ParsedText | None) -> str:
    return "" if parsed is None else f"{parsed.title}\n{parsed.text}"


def _texts(where: str, values: Mapping[str, object]) -> Iterator[StoredText]:
    for name, value in values.items():
        yield StoredText(
            where, name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        )
