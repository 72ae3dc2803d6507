"""An embedder over fastembed's models (extra `fastembed`), for those who want a larger local model.

The model is downloaded at first use, so this is the one local embedder that needs a network.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any, Final, Literal

import numpy as np

from knotwork.adapters.models.text import readable
from knotwork.errors import ModelFailed, ModelRefused, SetupFailed
from knotwork.ports.models import Embeddings

MAX_CHARS: Final = 16_384


class FastembedEmbedder:
    """Embedder over `fastembed.TextEmbedding`. Queries and passages run in separate threads."""

    def __init__(self, model: str, *, dimension: int) -> None:
        """Embed with `model`, a name that fastembed lists, whose vectors have `dimension` numbers.

        Raises:
            SetupFailed: the extra is not installed.
        """
        try:
            self._fastembed = import_module("fastembed")
        except ImportError as error:
            raise SetupFailed("fastembed is not installed; run `pip install 'knotwork[fastembed]'`") from error
        self.id = f"fastembed/{model}@{dimension}"
        self.dimension = dimension
        self._name = model
        self._model: Any = None
        self._loading = threading.Lock()
        self._threads = {
            purpose: ThreadPoolExecutor(1, thread_name_prefix=f"fastembed-{purpose}")
            for purpose in ("passage", "query")
        }

    async def embed(self, texts: Sequence[str], *, purpose: Literal["passage", "query"] = "passage") -> Embeddings:
        """See `Embedder`. Some models mark queries and passages differently, so `purpose` matters."""
        cut = [readable(text, max_chars=MAX_CHARS) for text in texts]
        loop = asyncio.get_running_loop()
        return Embeddings(await loop.run_in_executor(self._threads[purpose], self._embed, cut, purpose))

    async def close(self) -> None:
        """End the threads; calls under way are finished first."""
        for threads in self._threads.values():
            await asyncio.to_thread(threads.shutdown)

    def _embed(self, texts: Sequence[str], purpose: Literal["passage", "query"]) -> list[list[float]]:
        model = self._loaded()
        embed = model.query_embed if purpose == "query" else model.passage_embed
        # One text a call: the padding of a batch would change the vectors.
        rows: Iterable[np.ndarray[Any, Any]] = (next(iter(embed([text]))) for text in texts)
        return [self._unit(row) for row in rows]

    def _loaded(self) -> Any:
        with self._loading:
            if self._model is None:
                self._model = self._load()
            return self._model

    def _load(self) -> Any:
        vendor = self._fastembed.TextEmbedding
        if self._name.casefold() not in {row["model"].casefold() for row in vendor.list_supported_models()}:
            raise ModelRefused(f"fastembed has no model {self._name!r}; see TextEmbedding.list_supported_models()")
        try:
            return vendor(model_name=self._name)
        except Exception as error:  # of the download, from several libraries
            raise ModelFailed(f"fastembed cannot load model {self._name!r}: {error}") from error

    def _unit(self, row: np.ndarray[Any, Any]) -> list[float]:
        length = float(np.linalg.norm(row))
        if row.shape != (self.dimension,) or not np.isfinite(length) or length == 0:
            raise ModelRefused(
                f"fastembed model {self._name!r} gave a vector of {row.size} dimensions and length {length}, "
                f"configured are {self.dimension}; set KNOTWORK_EMBEDDING_DIMENSION to what the model gives"
            )
        return (row / length).tolist()
