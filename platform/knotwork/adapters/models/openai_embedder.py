"""An embedder behind any OpenAI-compatible embeddings endpoint."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ValidationError

from knotwork.adapters.models.concurrency import map_bounded
from knotwork.adapters.models.openai_http import OpenAIEndpoint, TryAgain, usage_of
from knotwork.adapters.models.text import readable
from knotwork.domain.model import NO_USAGE, Usage
from knotwork.errors import ModelRefused
from knotwork.ports.models import Embeddings

MAX_CHARS: Final = 8_000  # of a text; embedding models of today read 512 to 8,192 tokens
MAX_BATCH_BYTES: Final = 256 * 1024  # of text a request; proxies and servers commonly refuse bodies over 1 or 2 MB
BLANK: Final = "(blank)"  # in place of a text without any character, which endpoints refuse


class OpenAIEmbedder:
    """Embedder over `POST {url}/embeddings`. Vectors are scaled to length 1, whatever the endpoint does."""

    def __init__(
        self,
        endpoint: OpenAIEndpoint,
        *,
        model: str,
        dimension: int,
        batch: int = 64,
        concurrency: int = 4,
        max_chars: int = MAX_CHARS,
    ) -> None:
        """Embed with `model` at `endpoint`; whoever made the endpoint closes it.

        Args:
            endpoint: Where to ask.
            model: Name of the model there.
            dimension: Dimension its vectors must have.
            batch: Texts a request, at most.
            concurrency: Requests at once of one call, at most; the endpoint has its own limit for all calls.
            max_chars: Characters of a text that are sent.
        """
        self.id = f"openai/{model}@{dimension}"
        self.dimension = dimension
        self._endpoint = endpoint
        self._model = model
        self._batch = batch
        self._concurrency = concurrency
        self._max_chars = max_chars

    async def embed(self, texts: Sequence[str], *, purpose: Literal["passage", "query"] = "passage") -> Embeddings:
        """See `Embedder`. The protocol does not know purposes; both are sent alike."""
        del purpose
        sent = [readable(text, max_chars=self._max_chars) for text in texts]
        batches = into_batches([text if text.strip() else BLANK for text in sent], self._batch, MAX_BATCH_BYTES)
        parts = await map_bounded(self._embed_batch, batches, limit=self._concurrency)
        return Embeddings(
            vectors=[vector for vectors, _ in parts for vector in vectors.tolist()],
            usage=sum((usage for _, usage in parts), start=NO_USAGE),
        )

    async def close(self) -> None:
        """Nothing to close."""

    async def _embed_batch(self, texts: Sequence[str]) -> tuple[npt.NDArray[np.float64], Usage]:
        # Floats and not base64, which is four times smaller but which some endpoints refuse.
        body = {"model": self._model, "input": list(texts), "encoding_format": "float"}

        async def attempt(_number: int) -> tuple[npt.NDArray[np.float64], Usage]:
            answer = await self._endpoint.post("embeddings", body)
            return self._vectors(answer, expected=len(texts)), usage_of(answer)

        return await self._endpoint.retrying(attempt)

    def _vectors(self, answer: Mapping[str, object], *, expected: int) -> npt.NDArray[np.float64]:
        """The checked vectors of an answer, one a text, in the order of the texts, of length 1."""
        where = f"model {self._model!r} at {self._endpoint.address}"
        try:
            rows = _Answer.model_validate(answer).data
            vectors = [_decoded(row.embedding) for row in rows]
        except (ValidationError, binascii.Error, ValueError):
            raise TryAgain(f"{where} answered without embeddings; does it serve embeddings?") from None
        if len(rows) != expected:
            raise ModelRefused(f"{where} answered {expected} texts with {len(rows)} vectors; use another endpoint")
        order = [position if row.index is None else row.index for position, row in enumerate(rows)]
        if sorted(order) != list(range(expected)):
            raise ModelRefused(f"{where} answered with indexes that are not those of the texts; use another endpoint")
        found = {len(vector) for vector in vectors}
        if found - {self.dimension}:
            raise ModelRefused(
                f"{where} gives vectors of {', '.join(map(str, sorted(found)))} dimensions, configured are "
                f"{self.dimension}; set KNOTWORK_EMBEDDING_DIMENSION to what the model gives, or name another model"
            )
        matrix = np.empty((expected, self.dimension))
        matrix[order] = vectors
        return _unit_rows(matrix, where)


def into_batches(texts: Sequence[str], max_texts: int, max_bytes: int) -> list[list[str]]:
    """Cut a list of texts into runs of at most `max_texts` texts and `max_bytes` bytes of UTF-8, in order.

    A text that alone is over `max_bytes` is a run of its own.
    """
    batches: list[list[str]] = []
    size_bytes = 0
    for text in texts:
        text_bytes = len(text.encode())
        if not batches or len(batches[-1]) >= max_texts or size_bytes + text_bytes > max_bytes:
            batches.append([])
            size_bytes = 0
        batches[-1].append(text)
        size_bytes += text_bytes
    return batches


class _Row(BaseModel):
    embedding: list[float] | str
    index: int | None = None  # some endpoints leave it out and answer in order


class _Answer(BaseModel):
    data: list[_Row]


def _decoded(embedding: list[float] | str) -> Sequence[float] | npt.NDArray[np.float32]:
    """Numbers as they are, or base64 of little-endian float32, which an endpoint may send unasked."""
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4")
    return embedding


def _unit_rows(matrix: npt.NDArray[np.float64], where: str) -> npt.NDArray[np.float64]:
    if not np.isfinite(matrix).all():
        raise ModelRefused(f"{where} gives vectors with NaN or infinite numbers; use another model")
    largest = np.abs(matrix).max(axis=1, keepdims=True, initial=0.0)
    if not largest.all():
        raise ModelRefused(f"{where} gives zero vectors, which have no direction to compare; use another model")
    scaled = matrix / largest  # so that squares neither overflow nor vanish
    return scaled / np.linalg.norm(scaled, axis=1, keepdims=True)
