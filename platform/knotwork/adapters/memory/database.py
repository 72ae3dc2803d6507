"""The rows that the memory adapters of the graph share, and who sees which of them.

Everything is kept as the domain's own values, and whatever is derived is computed when asked: these adapters are what
the others are compared with.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from knotwork.domain.catalogue import Evidence, Run, StoredChunk, TenantSettings
from knotwork.domain.filters import AnyOf, Between, Filter, Scalar
from knotwork.domain.model import ChunkId, ParsedText, Source, SourceRef, Subject, TenantId
from knotwork.domain.skill_graphs import Drawing
from knotwork.domain.usage import Quota, UsageCount, UsageKey
from knotwork.ports.graph_store import PendingSync
from knotwork.ports.keys import ApiKey
from knotwork.ports.vector_store import View


@dataclass(slots=True)
class ChunkRow:
    """A chunk, who may read it, and what it says; `chunk` has no extraction fields of its own."""

    source: SourceRef
    chunk: StoredChunk
    subjects: tuple[Subject, ...]
    evidence: Evidence | None = None
    attempts: int = 0  # that failed, under the key of the evidence


@dataclass(slots=True)
class SkillGraphRow:
    """A skill graph: its declarations by version, as they came, which of them is the present one, and its drawing."""

    version: str | None = None
    declarations: dict[str, str] = field(default_factory=dict[str, str])
    drawing: Drawing = field(default_factory=Drawing)


@dataclass(slots=True)
class TenantRows:
    """Everything of one tenant; `settings` None: rows of a tenant that was never created, or is deleted."""

    settings: TenantSettings | None = None
    settings_due: bool = False  # the sources do not follow the settings yet
    is_paused: bool = False
    sources: dict[SourceRef, Source] = field(default_factory=dict[SourceRef, Source])
    texts: dict[SourceRef, ParsedText] = field(default_factory=dict[SourceRef, ParsedText])
    chunks: dict[ChunkId, ChunkRow] = field(default_factory=dict[ChunkId, ChunkRow])
    syncs: dict[str, PendingSync] = field(default_factory=dict[str, PendingSync])
    runs: dict[str, Run] = field(default_factory=dict[str, Run])
    run_texts: dict[str, ParsedText] = field(default_factory=dict[str, ParsedText])
    keys: dict[str, ApiKey] = field(default_factory=dict[str, ApiKey])
    skill_graphs: dict[str, SkillGraphRow] = field(default_factory=dict[str, SkillGraphRow])
    usage: dict[UsageKey, UsageCount] = field(default_factory=dict[UsageKey, UsageCount])
    quota: Quota = field(default_factory=Quota)

    def evidence(self, view: View) -> Iterator[tuple[ChunkRow, Evidence]]:
        """The evidence that the view shows: its reader may read the chunk, its filter takes the chunk's source."""
        for _, row in sorted(self.chunks.items()):
            if row.evidence and may_read(row.subjects, view) and matches(self.sources[row.source], view.filter):
                yield row, row.evidence


class MemoryDatabase:
    """The rows of all tenants."""

    def __init__(self) -> None:
        self.tenants: defaultdict[TenantId, TenantRows] = defaultdict(TenantRows)
        self.is_guarded = False  # an API key exists or existed


def may_read(subjects: tuple[Subject, ...], view: View) -> bool:
    """Whether a reader of this view is among these auth subjects."""
    return view.subjects is None or not set(subjects).isdisjoint(view.subjects)


def matches(source: Source, filter_: Filter | None) -> bool:
    """Whether a source meets every condition of a filter; one without the field meets none on it."""
    return filter_ is None or all(_meets(source, condition) for condition in filter_.conditions)


def _meets(source: Source, condition: AnyOf | Between) -> bool:
    values = _values(source, condition.field)
    if isinstance(condition, AnyOf):
        return any(_equal(value, wanted) for value in values for wanted in condition.values)
    return any(_within(value, condition) for value in values)


def _values(source: Source, field_: str) -> list[Scalar]:
    if field_ == "source_type":
        return [source.ref.type]
    if field_ == "source_id":
        return [source.ref.id]
    value = source.metadata.get(field_.removeprefix("metadata."), ())
    return [value] if isinstance(value, str | int | float) else list(value)


def _equal(value: Scalar, wanted: Scalar) -> bool:
    """Equal and of one kind; to Python, but to nobody who filters, True is 1."""
    return isinstance(value, bool) == isinstance(wanted, bool) and value == wanted


def _within(value: Scalar, bounds: Between) -> bool:
    return (bounds.gte is None or _at_most(bounds.gte, value)) and (bounds.lte is None or _at_most(value, bounds.lte))


def _at_most(low: Scalar, high: Scalar) -> bool:
    """Whether low ≤ high, two numbers or two strings; true and false are neither."""
    if isinstance(low, str) and isinstance(high, str):
        return low <= high
    if isinstance(low, str | bool) or isinstance(high, str | bool):
        return False
    return low <= high
