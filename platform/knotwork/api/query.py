"""Queries: a question in, cited passages out."""

from __future__ import annotations

import time

from fastapi import APIRouter, Request

from knotwork.api.auth import Reading
from knotwork.api.problems import ALWAYS, problem_responses
from knotwork.api.schemas import PassageOut, QueryAnswer, QueryBody, UsageOut
from knotwork.api.state import state_of
from knotwork.domain.filters import parse_filter
from knotwork.domain.retrieval import FusionWeights, RetrieveOptions

router = APIRouter(prefix="/v1", tags=["query"])


@router.post(
    "/query",
    responses=problem_responses(
        *ALWAYS,
        "mode_not_configured",
        "option_not_configured",
        "ambiguous_name",
        "limit_reached",
        "quota_exceeded",
        "model_failed",
        "model_refused",
        "upload_too_large",
        "upload_stalled",
    ),
)
async def query(request: Request, identity: Reading, body: QueryBody) -> QueryAnswer:
    """The best passages for a question, best first; each resolves under /v1/chunks/{id}."""
    started = time.monotonic()
    options = RetrieveOptions(
        top_k=body.top_k,
        filter=None if body.filter is None else parse_filter(body.filter),
        min_score=body.min_score,
        explain=body.explain,
        diversity=body.diversity,
        rerank=body.rerank,
        weights=None if body.weights is None else FusionWeights(body.weights.semantic, body.weights.keyword),
    )
    platform = state_of(request).platform
    result = await platform.retrieval.query(identity.reader, body.query, body.mode, options)
    return QueryAnswer(
        mode=body.mode,
        passages=[PassageOut.of(passage, number) for number, passage in enumerate(result.passages, start=1)],
        usage=UsageOut(input_tokens=result.usage.input_tokens, output_tokens=result.usage.output_tokens),
        elapsed_ms=round((time.monotonic() - started) * 1000),
        degraded=["neo4j"] if platform.tenants.is_behind else [],
        explanation=None if result.explanation is None else dict(result.explanation),
    )
