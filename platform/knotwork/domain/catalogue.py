"""Values of the catalogue and the ledger: tenants, stored chunks, runs and their results."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from knotwork.domain.model import ChunkId, Contribution, Metadata, ParsedText, Source, SourceRef, Subject


@dataclass(frozen=True, slots=True)
class TenantSettings:
    """What a tenant chose. None leaves the choice to the service's settings."""

    graph: bool | None = None  # the switch: None is on with the packaged extractor, off with one that calls a model
    extraction_model: str | None = None


class ExtractionState(StrEnum):
    """What became of a chunk's extraction."""

    NONE = "none"  # not read
    DONE = "done"  # gave at least one entity
    EMPTY = "empty"  # a well-formed answer without entities; final
    FAILED = "failed"  # error, time-out or unparseable; a later run tries again


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk as the catalogue knows it: position and keys; its text is the span of the source's text."""

    id: ChunkId
    index: int
    start: int
    end: int
    content_hash: str
    title: str = ""
    headings: tuple[str, ...] = ()
    page: int | None = None
    preview: str = ""  # the first characters, for people who look at the graph
    embedding_key: str = ""  # hash of all the embedder saw and of its identity
    extraction_key: str | None = None  # hash of all the extractor saw and of its identity; None: no evidence stored
    extraction_state: ExtractionState = ExtractionState.NONE


@dataclass(frozen=True, slots=True)
class SourceState:
    """A source with its chunks, in order."""

    source: Source
    chunks: tuple[StoredChunk, ...]


@dataclass(frozen=True, slots=True)
class ExtractionFailure:
    """Why a chunk could not be read: a stable code, and words for people."""

    code: str
    message: str


UNKNOWN_FAILURE = ExtractionFailure("unknown", "it failed elsewhere, and why is not recorded")  # of an import


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one chunk contributes under one extraction key; `failure` says why nothing, where the state is FAILED."""

    chunk_id: ChunkId
    extraction_key: str
    state: ExtractionState
    contribution: Contribution
    failure: ExtractionFailure | None = None


@dataclass(frozen=True, slots=True)
class FailedChunk:
    """A chunk whose extraction failed: how often under its present key, and why the last time."""

    chunk_id: ChunkId
    source: SourceRef
    index: int  # position in the source, from 0
    attempts: int
    failure: ExtractionFailure


@dataclass(frozen=True, slots=True)
class GraphChange:
    """What a write did to the merged graph: counts, and the things whose vectors or readers must follow."""

    entities: int = 0  # distinct entities named by the evidence written
    relationships: int = 0
    pruned: int = 0  # entities and relationships that lost their last evidence


class RunKind(StrEnum):
    INDEX = "index"  # new text, or the same text again
    UPDATE = "update"  # metadata, auth subjects or graph flag; the text stays
    DELETE = "delete"


class RunStep(StrEnum):
    """The steps of a run, in order; each is recorded once it is done."""

    RECORDED = "recorded"
    CHUNKS = "chunks"
    GRAPH = "graph"
    PRUNED = "pruned"
    DONE = "done"


class RunState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    CANCELLING = "cancelling"  # nobody wants it any more, and it is under way
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"  # never started, or stopped; what it left undone is listed with the failed chunks


OVER = frozenset({RunState.DONE, RunState.FAILED, RunState.CANCELLED})


@dataclass(frozen=True, slots=True)
class SourceChange:
    """Fields of a source to set; None leaves a field as it is. `clear_graph` sets the flag back to the tenant's."""

    auth_subjects: tuple[Subject, ...] | None = None
    metadata: Metadata | None = None
    graph: bool | None = None
    clear_graph: bool = False


@dataclass(frozen=True, slots=True)
class GraphResult:
    """The graph part of an index result; `ran` False and zeros when no graph work was due."""

    ran: bool = False
    entities: int = 0
    relationships: int = 0
    pruned: int = 0
    extraction_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    unusable_chunks: int = 0
    failed_chunks: int = 0
    elapsed_ms: int = 0


@dataclass(frozen=True, slots=True)
class IndexResult:
    """What indexing one source did."""

    written: int = 0  # chunks new under their id
    removed: int = 0  # chunks of the earlier version that are gone
    batches: int = 0  # embedding batches
    elapsed_ms: int = 0
    model: str = ""  # the embedder's id
    freshness_met: bool = True
    graph: GraphResult = field(default_factory=GraphResult)


@dataclass(frozen=True, slots=True)
class Run:
    """One accepted request about one source: a row of the ledger. Ids sort by time of acceptance."""

    id: str
    kind: RunKind
    ref: SourceRef
    step: RunStep = RunStep.RECORDED
    state: RunState = RunState.QUEUED
    accepted_at: float = 0.0  # seconds since the epoch
    error_code: str | None = None
    error: str | None = None
    result: IndexResult | None = None
    source: Source | None = None  # kind INDEX: the source as it will be
    change: SourceChange | None = None  # kind UPDATE
    seen_by: tuple[Subject, ...] = ()  # the source's readers when it was accepted: who may see the run


@dataclass(frozen=True, slots=True)
class AcceptedRun:
    """A run with the text that came with it."""

    run: Run
    parsed: ParsedText | None = None
