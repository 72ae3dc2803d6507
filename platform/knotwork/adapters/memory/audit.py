"""GraphAudit in memory, where merged things are computed when asked and so never differ from their evidence."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import asdict

from knotwork.adapters.memory.database import MemoryDatabase, TenantRows
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
        for where, values in _things(rows):
            for name, value in values.items():
                text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
                yield StoredText(where, name, text)


def _things(rows: TenantRows) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Everything stored of a tenant, in words, with its values."""
    for ref, source in rows.sources.items():
        yield f"source {ref.id}", {**asdict(source), "content": _text(rows.texts.get(ref))}
    for id_, row in rows.chunks.items():
        yield f"chunk {id_}", {"chunk": asdict(row.chunk), "evidence": asdict(row.evidence) if row.evidence else ""}
    for run_id, run in rows.runs.items():
        yield f"run {run_id}", {"run": asdict(run), "content": _text(rows.run_texts.get(run_id))}
    for name, graph in rows.skill_graphs.items():
        yield f"skill graph {name}", asdict(graph)
    for sync_id, sync in rows.syncs.items():
        yield f"sync {sync_id}", asdict(sync)


def _text(parsed: ParsedText | None) -> str:
    return "" if parsed is None else f"{parsed.title}\n{parsed.text}"
