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

SLICE = 16  # texts a task of the pool: 0.4 s of work for texts of 100 tokens, so that callers take turns
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
            parts = [await loop.run_in_executor(self._threads, minilm.embed_texts, list(texts))]
        else:
            slices = [list(texts[start : start + SLICE]) for start in range(0, len(texts), SLICE)]
            parts = await map_bounded(self._embed_in_pool, slices, limit=self._pool.size)
        return Embeddings(
            vectors=[vector for vectors, _ in parts for vector in vectors.tolist()],
            usage=Usage(input_tokens=sum(tokens for _, tokens in parts)),
        )

    async def close(self) -> None:
        """End the threads; queries under way are finished first."""
        await asyncio.to_thread(self._threads.shutdown)

    async def _embed_in_pool(self, texts: list[str]) -> tuple[minilm.Vectors, int]:
        return await self._pool.run(minilm.embed_texts, texts)
