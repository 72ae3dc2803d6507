"""The JSON of operations and their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Self

from pydantic import BaseModel, Field

from knotwork.api.schemas import JobError, SourceName
from knotwork.domain.damage import Damage, DamageKind
from knotwork.ports.compaction import Compacted
from knotwork.services.maintenance import Operation, OperationKind, OperationState
from knotwork.services.repair import RepairReport
from knotwork.services.restore import ImportResult
from knotwork.services.verify import SearchReport, VerifyReport


class DamageOut(BaseModel):
    kind: DamageKind
    of: str = Field(description="What `id` names: source, chunk, entity, relationship, text, node or point.")
    id: str
    detail: str
    source: SourceName | None

    @classmethod
    def of_damage(cls, damage: Damage) -> Self:
        source = SourceName.of(damage.source) if damage.source else None
        return cls(kind=damage.kind, of=damage.of, id=damage.id, detail=damage.detail, source=source)


class VerifyOut(BaseModel):
    """Result of `verify`."""

    clean: bool
    counts: dict[str, int] = Field(description="How many damages of each kind there are.")
    examples: list[DamageOut] = Field(description="The first 1,000 of them.")

    @classmethod
    def of(cls, report: VerifyReport) -> Self:
        return cls(
            clean=report.is_clean,
            counts={kind.value: count for kind, count in report.counts.items()},
            examples=[DamageOut.of_damage(one) for one in report.examples],
        )


class PlaceOut(BaseModel):
    where: str
    field: str


class SearchOut(BaseModel):
    """Result of `search`."""

    found: int
    places: list[PlaceOut] = Field(description="The first 1,000 places.")

    @classmethod
    def of(cls, report: SearchReport) -> Self:
        return cls(found=report.found, places=[PlaceOut(where=one.where, field=one.field) for one in report.places])


class RepairOut(BaseModel):
    """Result of `repair`."""

    found: int
    sources: int = Field(description="Sources that were read again.")
    rounds: int
    left: VerifyOut

    @classmethod
    def of(cls, report: RepairReport) -> Self:
        return cls(found=report.found, sources=report.sources, rounds=report.rounds, left=VerifyOut.of(report.left))


class CompactedOut(BaseModel):
    store: str
    before_bytes: int
    after_bytes: int


class CompactOut(BaseModel):
    """Result of `compact`: the embedded stores; none where both are your own."""

    stores: list[CompactedOut]

    @classmethod
    def of(cls, stores: Sequence[Compacted]) -> Self:
        return cls(stores=[CompactedOut(**asdict(one)) for one in stores])


class ImportOut(BaseModel):
    """Result of `import`."""

    sources: int
    chunks: int
    entities: int
    relationships: int
    embedded: int = Field(description="Texts that had to be embedded, as their vectors did not come along.")
    sha256: str = Field(description="Names the state, as in the last line of an export.")
    other_chunker: str | None = Field(
        description="The chunker that cut the export, where this service's is another: the next run of a source cuts "
        "that source anew."
    )

    @classmethod
    def of(cls, result: ImportResult) -> Self:
        return cls(**asdict(result))


Result = VerifyOut | SearchOut | RepairOut | CompactOut | ImportOut


class OperationOut(BaseModel):
    id: str
    kind: OperationKind
    tenant: str | None = Field(description="Null: it concerns every tenant.")
    state: OperationState
    step: str
    done: int
    total: int = Field(description="0: not known.")
    started_at: datetime
    error: JobError | None
    result: Result | None

    @classmethod
    def of(cls, operation: Operation) -> Self:
        error = None
        if operation.error_code is not None:
            error = JobError(code=operation.error_code, message=operation.error or "")
        return cls(
            id=operation.id,
            kind=operation.kind,
            tenant=operation.tenant,
            state=operation.state,
            step=operation.step,
            done=operation.done,
            total=operation.total,
            started_at=datetime.fromtimestamp(operation.started_at, UTC),
            error=error,
            result=None if operation.result is None else _RESULTS[operation.kind](operation.result),
        )


class OperationAnswer(BaseModel):
    operation: OperationOut


class OperationList(BaseModel):
    items: list[OperationOut]


_RESULTS: Mapping[OperationKind, Any] = {
    OperationKind.VERIFY: VerifyOut.of,
    OperationKind.SEARCH: SearchOut.of,
    OperationKind.REPAIR: RepairOut.of,
    OperationKind.COMPACT: CompactOut.of,
    OperationKind.IMPORT: ImportOut.of,
}
