"""Models: an embedder, an extractor. Both have an `id` that keys everything computed with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from knotwork.domain.model import NO_USAGE, ChunkId, Usage, Vector


@dataclass(frozen=True, slots=True)
class Embeddings:
    """One vector a text, in the order of the texts, each of the embedder's dimension and of length 1."""

    vectors: Sequence[Vector]
    usage: Usage = NO_USAGE


@runtime_checkable
class Embedder(Protocol):
    """Text → vector. Equal text gives an equal vector, whatever stands beside it in the batch."""

    @property
    def id(self) -> str:
        """Identity: model, version and dimension. Two embedders with one id give interchangeable vectors."""
        ...

    @property
    def dimension(self) -> int: ...

    async def embed(self, texts: Sequence[str], *, purpose: Literal["passage", "query"] = "passage") -> Embeddings:
        """Embed any number of texts (batching is the adapter's); longer texts than the model reads are cut.

        Raises:
            ModelFailed: no usable answer after retries (may succeed later).
            ModelRefused: the endpoint refuses for good, or answers with a wrong count or
                dimension, NaN or zero vectors.
        """
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class ExtractionInput:
    """All that an extractor sees of a chunk; results are keyed by it."""

    chunk_id: ChunkId  # for logs and errors only; an extractor never reads it
    text: str
    title: str = ""
    headings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Extraction:
    """The raw answer about one chunk. Its shape is not trusted: `sanitise_extraction` reads it."""

    raw: object
    usage: Usage = NO_USAGE


@runtime_checkable
class Extractor(Protocol):
    """Chunk → raw extraction.

    Its form: {"entities": [{name, type, description}], "relationships": [{from, to, type, description}]}.
    """

    @property
    def id(self) -> str:
        """Identity: extractor, model and version of rules or prompt. Equal id and input, equal answer (as recorded)."""
        ...

    @property
    def calls_model(self) -> bool:
        """Whether a call costs money or leaves the machine; such an extractor is off until a tenant turns it on."""
        ...

    async def extract(self, chunk: ExtractionInput) -> Extraction:
        """Read one chunk.

        Raises:
            ModelFailed: error, time-out or unparseable answer, after retries; the chunk counts as failed.
            ModelRefused: the endpoint refuses for good.
        """
        ...

    async def close(self) -> None: ...
