"""What is done with the passages of any mode before they are returned: rerank, diversify, cut."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from knotwork.domain.diversity import diversify
from knotwork.domain.model import ChunkId, Passage
from knotwork.domain.retrieval import MAX_TOP_K, Reader, RetrievalResult, RetrieveOptions, Scored, checked_query
from knotwork.errors import ModelFailed, OptionNotConfigured
from knotwork.ports.reranker import Reranker
from knotwork.ports.vector_store import Collection, VectorStore
from knotwork.services.passages import view_of

WIDENED_BY = 4  # candidates for each passage that is returned
CANDIDATES = 50  # at least, as a reranker is asked for what a mode did not put on top


class Refinement:
    """Options of every mode: `rerank` and `diversity`, over more candidates than are returned."""

    def __init__(self, vectors: VectorStore, reranker: Reranker | None = None) -> None:
        self._vectors, self._reranker = vectors, reranker

    def widened(self, options: RetrieveOptions) -> RetrieveOptions:
        """What to ask of the mode. The floor of a reranked answer is on the reranker's scale, so it is applied later.

        Raises:
            OptionNotConfigured: to rerank takes an endpoint.
        """
        if options.rerank and self._reranker is None:
            raise OptionNotConfigured("rerank", "set KNOTWORK_RERANK_URL to a rerank endpoint")
        if not options.rerank and not options.diversity:
            return options
        candidates = min(MAX_TOP_K, max(CANDIDATES, WIDENED_BY * options.top_k))
        return replace(options, top_k=candidates, min_score=None if options.rerank else options.min_score)

    async def refine(
        self, reader: Reader, query: str, options: RetrieveOptions, found: RetrievalResult
    ) -> RetrievalResult:
        """The passages to return, best first by the score they carry, ties by id.

        Raises:
            ModelFailed, ModelRefused: the reranker; what the mode found is not passed off as reranked.
        """
        candidates = len(found.passages)
        told = dict(found.explanation or {})
        if options.rerank and self._reranker is not None and candidates:
            found = await self._rerank(self._reranker, checked_query(query), options, found)
            told["rerank"] = {"reranker": self._reranker.id, "candidates": candidates}
        if options.diversity:
            found = await self._diversify(reader, options, found)
            told["diversity"] = {"diversity": options.diversity, "candidates": candidates}
        tell = options.explain or found.explanation is not None
        return replace(found, passages=found.passages[: options.top_k], explanation=told if tell and told else None)

    async def _rerank(
        self, reranker: Reranker, query: str, options: RetrieveOptions, found: RetrievalResult
    ) -> RetrievalResult:
        answer = await reranker.rerank(query, [_text(passage) for passage in found.passages])
        if len(answer.scores) != len(found.passages):
            raise ModelFailed(f"{reranker.id} scored {len(answer.scores)} of {len(found.passages)} passages")
        passages = [
            replace(passage, score=score, metadata={**passage.metadata, "mode_score": passage.score})
            for passage, score in zip(found.passages, answer.scores, strict=True)
            if options.min_score is None or score >= options.min_score
        ]
        passages.sort(key=lambda passage: (-passage.score, passage.id))
        return replace(found, passages=tuple(passages), usage=found.usage + answer.usage)

    async def _diversify(self, reader: Reader, options: RetrieveOptions, found: RetrievalResult) -> RetrievalResult:
        hits = [Scored(passage.id, passage.score) for passage in found.passages]
        points = await self._vectors.fetch(
            reader.tenant,
            Collection.CHUNKS,
            [hit.id for hit in hits],
            view=view_of(reader, options),
            with_vectors=True,
        )
        vectors = {ChunkId(point.id): point.vector for point in points if point.vector is not None}
        # In a thread: 200 candidates of 1,024 dimensions take half a second.
        chosen = await asyncio.to_thread(diversify, hits, vectors, diversity=options.diversity, limit=options.top_k)
        kept = {hit.id for hit in chosen}
        return replace(found, passages=tuple(passage for passage in found.passages if passage.id in kept))


def _text(passage: Passage) -> str:
    """What the reranker reads of a passage: title and headings first, as they say what the text is about."""
    about: Mapping[str, object] = passage.metadata
    parts = (str(about.get("title") or ""), *cast("Sequence[str]", about.get("headings") or ()))
    context = [part for part in parts if part and not passage.text.startswith(part)]
    return "\n".join([*dict.fromkeys(context), passage.text])
