"""Chunker that cuts short texts here and long ones in a worker process, so that no query waits for a book."""

from __future__ import annotations

import asyncio
from functools import cache

from knotwork.adapters.models.tokenizer import PackagedTokenizer
from knotwork.adapters.models.workers import WorkerPool
from knotwork.domain.chunking import CHUNKER_VERSION, chunk_text
from knotwork.domain.model import Chunk, ParsedText, SourceRef

LONG_CHARS = 20_000  # about 20 ms of work


class PooledChunker:
    """Chunker over domain/chunking.py with the packaged tokenizer as its measure."""

    def __init__(self, pool: WorkerPool, *, max_tokens: int, overlap_tokens: int) -> None:
        self._pool, self._max_tokens, self._overlap_tokens = pool, max_tokens, overlap_tokens
        self.id = f"chunker/{CHUNKER_VERSION}/{max_tokens}+{overlap_tokens}"

    async def chunk(self, parsed: ParsedText, source: SourceRef) -> list[Chunk]:
        """See `Chunker`."""
        if len(parsed.text) < LONG_CHARS:
            return await asyncio.to_thread(cut, parsed, source, self._max_tokens, self._overlap_tokens)
        return await self._pool.run(cut, parsed, source, self._max_tokens, self._overlap_tokens)


def cut(parsed: ParsedText, source: SourceRef, max_tokens: int, overlap_tokens: int) -> list[Chunk]:
    """Cut a text in this process."""
    return chunk_text(parsed, source, measure=_measure(), max_tokens=max_tokens, overlap_tokens=overlap_tokens)


@cache
def _measure() -> PackagedTokenizer:
    return PackagedTokenizer()
