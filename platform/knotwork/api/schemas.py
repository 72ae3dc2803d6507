"""The JSON of requests and answers. Names are those of the domain; ids and offsets as there."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from knotwork.domain.catalogue import FailedChunk, IndexResult, Run, RunState, TenantSettings
from knotwork.domain.graph_views import EntityView, MentionView, RelationshipView
from knotwork.domain.model import Heading, Passage, Source, SourceRef
from knotwork.domain.retrieval import MAX_TOP_K, MAX_WEIGHT, Mode
from knotwork.ports.keys import ApiKey, Scope
from knotwork.services.upkeep import Staleness, StaleSource

Subjects = Annotated[
    list[str] | None,
    Field(description="Who may read the source; absent: everyone in the tenant.", examples=[["group:sre"]]),
]
MetadataIn = Annotated[
    dict[str, Any],
    Field(
        description="Flat: field → string, number, true/false, or a list. Dates are ISO 8601 strings.",
        examples=[{"team": "payments", "reviewed": "2026-03-01"}],
    ),
]
Finite = Annotated[float, Field(allow_inf_nan=False)]


class Body(BaseModel):
    """A request's body; fields that are not known are refused, so that a misspelt one is not lost."""

    model_config = ConfigDict(extra="forbid")


class SourceName(BaseModel):
    type: str = Field(examples=["document"])
    id: str = Field(examples=["handbook/on-call.md"])

    @classmethod
    def of(cls, ref: SourceRef) -> Self:
        return cls(type=ref.type, id=ref.id)


class TextSource(Body):
    """A source sent as text."""

    text: str = Field(examples=["# On call\n\nThe payments team owns the retry budget."])
    title: str | None = Field(None, max_length=1000, description="Absent: the document's own, else its name.")
    media_type: str = Field("text/plain", description="text/plain, text/markdown, text/html, text/csv ...")
    metadata: MetadataIn = Field(default_factory=dict)
    auth_subjects: Subjects = None
    graph: bool | None = Field(None, description="Whether to build a graph of it; null: as the tenant has it.")


class SourcePatch(Body):
    """What to change of a source; a field that is absent stays, `graph: null` goes back to the tenant's setting."""

    metadata: MetadataIn | None = None
    auth_subjects: Subjects = None
    graph: bool | None = None


class SourceSummary(BaseModel):
    type: str
    id: str
    title: str
    content_hash: str
    auth_subjects: list[str]
    metadata: dict[str, Any]
    media_type: str
    graph: bool | None
    chunks: int
    size_chars: int

    @classmethod
    def of(cls, source: Source) -> Self:
        return cls(**_source_fields(source))


class HeadingOut(BaseModel):
    start: int = Field(description="Offset in characters of the text.")
    level: int
    text: str

    @classmethod
    def of(cls, heading: Heading) -> Self:
        return cls(start=heading.start, level=heading.level, text=heading.text)


class SourceDetail(SourceSummary):
    headings: list[HeadingOut]
    pages: int = Field(description="Pages of a document that has some, else 0.")
    text: str | None = Field(None, description="Only with `?text=true`.")


class SourcePage(BaseModel):
    items: list[SourceSummary]
    next: str | None = Field(description="Pass it as `after` for the next page; null: this is the last.")


class JobError(BaseModel):
    code: str
    message: str


class GraphResultOut(BaseModel):
    ran: bool
    entities: int
    relationships: int
    pruned: int
    extraction_calls: int
    input_tokens: int
    output_tokens: int
    unusable_chunks: int
    failed_chunks: int
    elapsed_ms: int


class IndexResultOut(BaseModel):
    written: int
    removed: int
    batches: int
    elapsed_ms: int
    model: str
    freshness_met: bool
    graph: GraphResultOut

    @classmethod
    def of(cls, result: IndexResult) -> Self:
        return cls.model_validate(result, from_attributes=True)


class Job(BaseModel):
    """A run: one accepted request about one source."""

    id: str
    kind: Literal["index", "update", "delete"]
    source: SourceName
    state: Literal["queued", "running", "cancelling", "done", "failed", "cancelled"]
    step: Literal["recorded", "chunks", "graph", "pruned", "done"]
    accepted_at: datetime
    error: JobError | None
    result: IndexResultOut | None

    @classmethod
    def of(cls, run: Run) -> Self:
        failed = run.state is RunState.FAILED
        return cls(
            id=run.id,
            kind=run.kind.value,
            source=SourceName.of(run.ref),
            state=run.state.value,
            step=run.step.value,
            accepted_at=datetime.fromtimestamp(run.accepted_at, UTC),
            error=JobError(code=run.error_code or "internal", message=run.error or "") if failed else None,
            result=IndexResultOut.of(run.result) if run.result else None,
        )


class JobAnswer(BaseModel):
    job: Job


class JobPage(BaseModel):
    items: list[Job]
    next: str | None = Field(description="Pass it as `after` for the next page; null: this is the last.")
    paused: bool = Field(description="Whether no job of the tenant is started.")


class Paused(BaseModel):
    paused: bool


class FailureOut(BaseModel):
    """A chunk whose extraction failed."""

    chunk_id: str
    source: SourceName
    index: int = Field(description="Its position in the source, from 0.")
    attempts: int = Field(description="How often it failed under the present extractor.")
    error: JobError

    @classmethod
    def of(cls, chunk: FailedChunk) -> Self:
        return cls(
            chunk_id=chunk.chunk_id,
            source=SourceName.of(chunk.source),
            index=chunk.index,
            attempts=chunk.attempts,
            error=JobError(code=chunk.failure.code, message=chunk.failure.message),
        )


class FailurePage(BaseModel):
    items: list[FailureOut]
    next: str | None = Field(description="Pass it as `after` for the next page; null: this is the last.")


class Queued(BaseModel):
    queued: int = Field(description="Sources queued; those that wait already are not counted.")


class StaleOut(BaseModel):
    """A source that the present configuration would make otherwise."""

    source: SourceName
    reasons: list[Staleness]

    @classmethod
    def of(cls, stale: StaleSource) -> Self:
        return cls(source=SourceName.of(stale.source.ref), reasons=list(stale.reasons))


class StalePage(BaseModel):
    items: list[StaleOut]
    next: str | None = Field(description="Pass it as `after` for the next page; null: this is the last.")


class QueuedPage(Queued):
    next: str | None = Field(description="Pass it as `after` to queue what follows; null: this was the last.")


class FusionWeightsIn(Body):
    """What the two rankings of mode hybrid weigh; 0 leaves one out."""

    semantic: float = Field(1.0, ge=0, le=MAX_WEIGHT)
    keyword: float = Field(1.0, ge=0, le=MAX_WEIGHT)


class QueryBody(Body):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"query": "Which teams depend on the retry budget?", "mode": "local", "top_k": 5},
                {"query": "on-call rota", "filter": {"source_type": "document", "reviewed": {"gte": "2026-01-01"}}},
                {"query": "What does the retry budget policy say?", "mode": "navigate", "explain": True},
                {"query": "How is Checkout connected to Pelagia Cloud?", "mode": "auto"},
                {"query": "payouts delayed", "mode": "hybrid", "weights": {"keyword": 2}, "diversity": 0.3},
                {"query": "Why were the payouts late?", "mode": "semantic", "rerank": True, "min_score": 0.1},
            ]
        }
    )
    query: str
    mode: Mode = Mode.HYBRID
    top_k: int = Field(5, ge=1, le=MAX_TOP_K)
    min_score: Finite | None = Field(None, description="On the scale of the mode, before the cut.")
    filter: dict[str, Any] | None = Field(
        None,
        description="Field → value, list (any of) or {gte, lte}; fields are source_type, source_id and metadata's.",
    )
    diversity: float = Field(
        0.0,
        ge=0,
        le=1,
        description="How much passages are chosen for not repeating each other, 0 to 1; scores and order stay.",
    )
    rerank: bool = Field(
        False,
        description="Have the configured reranker score the candidates: scores and min_score are then its own.",
    )
    weights: FusionWeightsIn | None = Field(None, description="Of mode hybrid; absent: both rankings alike.")
    explain: bool = Field(False, description="Tell in `explanation` how the answer came about, where the mode can.")


class PassageOut(BaseModel):
    """A chunk as returned; `metadata` says where it stands in its source and how it was found."""

    id: str
    text: str
    score: float
    source: SourceName | None
    metadata: dict[str, Any]
    citation: int = Field(description="Its number among the answer's passages, from 1.")

    @classmethod
    def of(cls, passage: Passage, citation: int) -> Self:
        return cls(**_passage_fields(passage), score=passage.score, citation=citation)


class UsageOut(BaseModel):
    input_tokens: int
    output_tokens: int


class QueryAnswer(BaseModel):
    mode: Mode
    passages: list[PassageOut]
    usage: UsageOut
    elapsed_ms: int
    degraded: list[str] = Field(
        description="Parts that did not answer and that this answer does without, as health names them: without "
        "`neo4j` it is not known whether the tenant or the key have changed in the last minutes."
    )
    explanation: dict[str, Any] | None = Field(
        None,
        description="If asked for. Mode local: seeds with their weights, and the part of the graph that was walked. "
        "Mode navigate: the chooser, the documents it chose, and how many it was shown; unasked where another chooser "
        "had to do it: `fallback` then says from which to which, and why. Mode auto, always: `auto` with the mode that "
        "answered, why, the scores of all, and each step.",
    )


class CitedChunk(BaseModel):
    id: str
    text: str
    source: SourceName | None
    metadata: dict[str, Any]
    verified: bool = Field(description="Whether the source's stored text holds this text at [start, end).")

    @classmethod
    def of(cls, passage: Passage, *, verified: bool) -> Self:
        return cls(**_passage_fields(passage), verified=verified)


class EntityOut(BaseModel):
    id: str = Field(examples=["concept:retry budget"])
    type: str
    name: str
    description: str
    mentions: int = Field(description="Visible chunks that name it.")

    @classmethod
    def of(cls, entity: EntityView) -> Self:
        return cls.model_validate(entity, from_attributes=True)


class EntityPage(BaseModel):
    items: list[EntityOut]
    next: str | None = Field(description="Pass it as `after` for the next page; null: this is the last.")


class MentionOut(BaseModel):
    chunk_id: str
    name: str
    surface_forms: list[str]
    description: str

    @classmethod
    def of(cls, mention: MentionView) -> Self:
        return cls.model_validate(mention, from_attributes=True)


class RelationshipOut(BaseModel):
    id: str
    from_id: str
    from_name: str
    to_id: str
    to_name: str
    type: str
    description: str
    weight: int = Field(description="Visible chunks that assert it.")
    chunks: list[str] = Field(description="The first of them, by id.")

    @classmethod
    def of(cls, relationship: RelationshipView) -> Self:
        return cls.model_validate(relationship, from_attributes=True)


class EntityAnswer(BaseModel):
    entity: EntityOut
    surface_forms: list[str] = Field(description="Spellings in the mentions shown.")
    mentions: list[MentionOut] = Field(description="The first 20, by chunk id.")
    relationships: list[RelationshipOut] = Field(description="The 50 of greatest weight.")


class NeighbourhoodAnswer(BaseModel):
    entity: EntityOut
    relationships: list[RelationshipOut]
    entities: list[EntityOut] = Field(description="The entities at their other ends.")


class TenantBody(Body):
    graph: bool | None = Field(
        None,
        description="The switch of the graph; null: on with the packaged extractor, else off.",
    )
    extraction_model: str | None = Field(None, min_length=1, max_length=200)

    @classmethod
    def of(cls, settings: TenantSettings) -> Self:
        return cls(graph=settings.graph, extraction_model=settings.extraction_model)


class TenantAnswer(BaseModel):
    tenant: str
    settings: TenantBody
    queued: int = Field(0, description="Sources queued to follow a change of settings.")


class TenantDetail(BaseModel):
    tenant: str
    settings: TenantBody
    counts: dict[str, int] = Field(examples=[{"sources": 20, "chunks": 140, "entities": 310, "relationships": 280}])


class TenantList(BaseModel):
    items: list[str]


class KeyBody(Body):
    name: str = Field("", max_length=200, examples=["search page"])
    scopes: set[Scope] = Field(min_length=1, examples=[["read"]])
    subjects: list[str] | None = Field(
        None, description="With whose eyes the key reads; null: it sees every source.", examples=[["group:sre"]]
    )


class KeyOut(BaseModel):
    id: str
    name: str
    tenant: str
    scopes: list[Scope]
    subjects: list[str] | None

    @classmethod
    def of(cls, key: ApiKey) -> Self:
        return cls(**_key_fields(key))


class NewKey(KeyOut):
    secret: str = Field(description="Shown this once; only its hash is stored.", examples=["kw_..."])

    @classmethod
    def made(cls, key: ApiKey, secret: str) -> Self:
        return cls(**_key_fields(key), secret=secret)


class KeyList(BaseModel):
    items: list[KeyOut]


class Part(BaseModel):
    ok: bool
    detail: str | None = Field(default=None, description="What was seen, in words; for a key with the scope admin.")


class HealthAnswer(BaseModel):
    status: Literal["ok", "degraded"]
    parts: dict[str, Part]


class Info(BaseModel):
    version: str
    home: str
    embedder: str
    extractor: str
    modes: list[Mode]
    browser_url: str | None = Field(description="Neo4j Browser; null with a Neo4j of your own.")
    log: str


def _source_fields(source: Source) -> dict[str, Any]:
    return {
        "type": source.ref.type,
        "id": source.ref.id,
        "title": source.title,
        "content_hash": source.content_hash,
        "auth_subjects": list(source.auth_subjects),
        "metadata": dict(source.metadata),
        "media_type": source.media_type,
        "graph": source.graph,
        "chunks": source.chunks,
        "size_chars": source.size_chars,
    }


def source_detail(source: Source, headings: list[HeadingOut], pages: int, text: str | None) -> SourceDetail:
    """A source with its outline."""
    return SourceDetail(**_source_fields(source), headings=headings, pages=pages, text=text)


def _passage_fields(passage: Passage) -> dict[str, Any]:
    source = SourceName.of(passage.source) if passage.source else None
    return {"id": passage.id, "text": passage.text, "source": source, "metadata": dict(passage.metadata)}


def _key_fields(key: ApiKey) -> Mapping[str, Any]:
    return {
        "id": key.id,
        "name": key.name,
        "tenant": key.tenant,
        "scopes": sorted(key.scopes),
        "subjects": None if key.subjects is None else list(key.subjects),
    }
