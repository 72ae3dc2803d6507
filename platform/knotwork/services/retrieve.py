"""Retrieval by mode: semantic, keyword, hybrid here; local in local.py."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext

from knotwork.domain.fusion import fuse_rankings
from knotwork.domain.model import ChunkId, Passage
from knotwork.domain.retrieval import (
    FusionWeights,
    Mode,
    Reader,
    RetrievalResult,
    RetrieveOptions,
    checked_query,
)
from knotwork.errors import InvalidInput, ModeNotConfigured, OptionNotConfigured
from knotwork.ports.models import Embedder
from knotwork.ports.retriever import MeteredRetriever, Retriever
from knotwork.ports.vector_store import Collection, VectorStore
from knotwork.services.passages import passage_from, passages_for, view_of
from knotwork.services.refine import Refinement

FUSED = 100  # hits of each ranking that hybrid joins, at least
WEIGHTED = (Mode.HYBRID, Mode.AUTO)  # auto may come to hybrid

NEEDS: Mapping[Mode, str] = {
    Mode.GLOBAL: "it needs community summaries, which are not part of this version",
}


class SemanticRetriever:
    """The chunks nearest to the query by embedding; scores are cosines in [-1, 1]."""

    def __init__(self, vectors: VectorStore, embedder: Embedder) -> None:
        self._vectors, self._embedder = vectors, embedder

    async def retrieve(self, reader: Reader, query: str, options: RetrieveOptions) -> tuple[Passage, ...]:
        return (await self.retrieve_with_usage(reader, query, options)).passages

    async def retrieve_with_usage(self, reader: Reader, query: str, options: RetrieveOptions) -> RetrievalResult:
        embeddings = await self._embedder.embed([checked_query(query)], purpose="query")
        hits = await self._vectors.search_dense(
            reader.tenant,
            Collection.CHUNKS,
            embeddings.vectors[0],
            view=view_of(reader, options),
            limit=options.top_k,
            min_score=options.min_score,
        )
        passages = tuple(passage_from(hit.id, hit.payload, hit.score, similarity=hit.score) for hit in hits)
        return RetrievalResult(passages, embeddings.usage)


class KeywordRetriever:
    """The chunks that BM25 ranks highest; scores are ≥ 0, over the chunks that the reader may see."""

    def __init__(self, vectors: VectorStore) -> None:
        self._vectors = vectors

    async def retrieve(self, reader: Reader, query: str, options: RetrieveOptions) -> tuple[Passage, ...]:
        hits = await self._vectors.search_keyword(
            reader.tenant,
            checked_query(query),
            view=view_of(reader, options),
            limit=options.top_k,
            min_score=options.min_score,
        )
        return tuple(passage_from(hit.id, hit.payload, hit.score) for hit in hits)

    async def retrieve_with_usage(self, reader: Reader, query: str, options: RetrieveOptions) -> RetrievalResult:
        return RetrievalResult(await self.retrieve(reader, query, options))  # no model is asked


class HybridRetriever:
    """Semantic and keyword rankings fused by reciprocal rank; scores are in (0, 1]."""

    def __init__(self, vectors: VectorStore, embedder: Embedder) -> None:
        self._vectors, self._embedder = vectors, embedder

    async def retrieve(self, reader: Reader, query: str, options: RetrieveOptions) -> tuple[Passage, ...]:
        return (await self.retrieve_with_usage(reader, query, options)).passages

    async def retrieve_with_usage(self, reader: Reader, query: str, options: RetrieveOptions) -> RetrievalResult:
        query = checked_query(query)
        view, limit = view_of(reader, options), max(FUSED, options.top_k)
        embeddings = await self._embedder.embed([query], purpose="query")
        dense, keyword = await asyncio.gather(
            self._vectors.search_dense(
                reader.tenant, Collection.CHUNKS, embeddings.vectors[0], view=view, limit=limit, with_payload=False
            ),
            self._vectors.search_keyword(reader.tenant, query, view=view, limit=limit, with_payload=False),
        )
        weights = options.weights or FusionWeights()
        ranked = fuse_rankings(
            [[ChunkId(hit.id) for hit in hits] for hits in (dense, keyword)],
            weights=(weights.semantic, weights.keyword),
        )
        passages = await passages_for(self._vectors, reader, options, ranked, query_vector=embeddings.vectors[0])
        return RetrievalResult(passages, embeddings.usage)


class Retrieval:
    """Every mode that is wired, behind one call."""

    def __init__(
        self,
        retrievers: Mapping[Mode, Retriever],
        *,
        steady: Callable[[], AbstractAsyncContextManager[None]] = nullcontext,
        refinement: Refinement | None = None,
    ) -> None:
        """`steady` has the embedding model stay as it is: a question is not searched for with another's vectors."""
        self._retrievers, self._steady, self._refinement = dict(retrievers), steady, refinement

    @property
    def modes(self) -> tuple[Mode, ...]:
        """The modes that answer."""
        return tuple(mode for mode in Mode if mode in self._retrievers)

    def require(self, mode: Mode) -> Retriever:
        """What answers in this mode.

        Raises:
            ModeNotConfigured: the mode is not wired; never another mode in its place.
        """
        retriever = self._retrievers.get(mode)
        if retriever is None:
            raise ModeNotConfigured(mode, NEEDS.get(mode, "its parts are not configured"))
        return retriever

    async def query(self, reader: Reader, query: str, mode: Mode, options: RetrieveOptions) -> RetrievalResult:
        """The best passages in one mode.

        Raises:
            ModeNotConfigured, OptionNotConfigured: the mode or an option is not wired.
            InvalidInput, StoreUnavailable: as `Retriever.retrieve`; or an option that is not of the mode.
            ModelFailed, ModelRefused: the reranker that was asked for.
        """
        retriever = self.require(mode)
        if options.weights is not None and mode not in WEIGHTED:
            raise InvalidInput(f"weights are of mode {Mode.HYBRID.value!r}; leave them out in mode {mode.value!r}")
        refinement = self._refinement
        if refinement is None and (options.rerank or options.diversity):
            raise OptionNotConfigured("rerank" if options.rerank else "diversity", "its parts are not configured")
        async with self._steady():
            if refinement is None:
                return await _answer(retriever, reader, query, options)
            found = await _answer(retriever, reader, query, refinement.widened(options))
            return await refinement.refine(reader, query, options, found)


async def _answer(retriever: Retriever, reader: Reader, query: str, options: RetrieveOptions) -> RetrievalResult:
    if isinstance(retriever, MeteredRetriever):
        return await retriever.retrieve_with_usage(reader, query, options)
    return RetrievalResult(tuple(await retriever.retrieve(reader, query, options)))
