"""Chunks: what a citation resolves to."""

from __future__ import annotations

from fastapi import APIRouter, Request

from knotwork.api.addresses import NAME
from knotwork.api.auth import Reading
from knotwork.api.problems import ALWAYS, problem_responses
from knotwork.api.schemas import CitedChunk
from knotwork.api.state import state_of
from knotwork.domain.model import ChunkId
from knotwork.domain.normalise import clean_text

router = APIRouter(prefix="/v1", tags=["query"])


@router.get(f"/chunks/{{chunk_id:{NAME}}}", responses=problem_responses(*ALWAYS, "not_found"))
async def get_chunk(request: Request, identity: Reading, chunk_id: str) -> CitedChunk:
    """One chunk, checked against the stored text of its source."""
    citation = await state_of(request).platform.citations.get(identity.reader, ChunkId(clean_text(chunk_id)))
    return CitedChunk.of(citation.passage, verified=citation.verified)
