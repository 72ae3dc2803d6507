"""The embedding model in use, which can change while queries are answered."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Literal

from knotwork.ports.models import Embedder, Embeddings


class EmbedderInUse:
    """The embedder that every service asks; `change` puts another in its place.

    A question is embedded and then searched with: whoever does both does it inside `steady`, so that no vector of one
    model meets those of another.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._inside = 0  # blocks of `steady` under way
        self._left = asyncio.Event()  # the last of them has ended
        self._settled = asyncio.Event()  # no change is under way
        self._settled.set()

    @property
    def id(self) -> str:
        return self._embedder.id

    @property
    def dimension(self) -> int:
        return self._embedder.dimension

    async def embed(self, texts: Sequence[str], *, purpose: Literal["passage", "query"] = "passage") -> Embeddings:
        return await self._embedder.embed(texts, purpose=purpose)

    async def close(self) -> None:
        """Nothing to do: whoever made the embedders closes them."""

    @asynccontextmanager
    async def steady(self) -> AsyncGenerator[None]:
        """Have the model stay as it is inside the block; one that begins during a change waits for its end."""
        await self._settled.wait()
        self._inside += 1
        try:
            yield
        finally:
            self._inside -= 1
            if not self._inside:
                self._left.set()

    @asynccontextmanager
    async def change(self, embedder: Embedder) -> AsyncGenerator[None]:
        """Put this embedder in place when the block ends well; nobody is inside `steady` meanwhile. One at a time."""
        self._settled.clear()
        try:
            while self._inside:
                self._left.clear()
                await self._left.wait()
            yield
            self._embedder = embedder
        finally:
            self._settled.set()
