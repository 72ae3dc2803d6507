"""The default embedder: a small model on this machine, without network or key."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

from knotwork.adapters.models import minilm
from knotwork.adapters.models.concurrency import map_bounded
from knotwork.adapters.models.workers import WorkerPool
from knotwork.domain.model import Usage
from knotwork.ports.models import Embeddings

SLICE_TEXTS, SLICE_CHARS = 128, 8_000  # a task of the pool, at most: 0.3 to 0.4 s of work, so that callers take turns
QUERY_THREADS = 2  # of this process; the model frees the interpreter while it computes


class PackagedEmbedder:
    """Embedder over `minilm`. Queries run in this process at once, passages in the pool, where they may wait.

    Whoever made the pool closes it. Usage counts the tokens read, though they cost nothing.
    """

    id = minilm.MODEL_ID
    dimension = minilm.DIMENSION

    def __init__(self, pool: WorkerPool) -> None:
        self._pool = pool
        self._threads = ThreadPoolExecutor(QUERY_THREADS, thread_name_prefix="embed-query")

    async def embed(self, texts: Sequence[str], *, purpose: Literal["passage", "query"] = "passage") -> Embeddings:
        """See `Embedder`. The model reads queries and passages alike; `purpose` decides only where it runs."""
        if purpose == "query":
            loop = asyncio.get_running_loop()
            vectors, tokens = await loop.run_in_executor(self._threads, minilm.embed_texts, list(texts))
            return Embeddings(vectors.tolist(), Usage(input_tokens=tokens))
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))  # those of like length run together
        parts = await map_bounded(
            self._embed_in_pool, _slices([texts[place] for place in order]), limit=self._pool.size
        )
        vector_of = dict(zip(order, (vector for vectors, _ in parts for vector in vectors.tolist()), strict=True))
        return Embeddings(
            [vector_of[place] for place in range(len(texts))],
            Usage(input_tokens=sum(tokens for _, tokens in parts)),
        )

    async def close(self) -> None:
        """End the threads; queries under way are finished first."""
        await asyncio.to_thread(self._threads.shutdown)

    async def _embed_in_pool(self, texts: list[str]) -> tuple[minilm.Vectors, int]:
        return await self._pool.run(minilm.embed_texts, texts)


def _slices(texts: Sequence[str]) -> list[list[str]]:
    """The texts in runs of at most SLICE_TEXTS texts and SLICE_CHARS characters, in order; a longer one runs alone."""
    slices: list[list[str]] = []
    chars = 0
    for text in texts:
        if not slices or len(slices[-1]) == SLICE_TEXTS or chars + len(text) > SLICE_CHARS:
            slices.append([])
            chars = 0
        slices[-1].append(text)
        chars += len(text)
    return slices
