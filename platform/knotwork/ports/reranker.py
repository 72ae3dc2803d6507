"""A reranker: a question and texts in, how well each answers it out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from knotwork.domain.model import NO_USAGE, Usage


@dataclass(frozen=True, slots=True)
class Reranking:
    """One finite score a text, in the order of the texts; higher is more relevant, the scale is the model's."""

    scores: Sequence[float]
    usage: Usage = NO_USAGE


class Reranker(Protocol):
    """Reads the question together with each text."""

    @property
    def id(self) -> str:
        """Identity: the model, as the endpoint calls it."""
        ...

    async def rerank(self, question: str, texts: Sequence[str]) -> Reranking:
        """Score any number of texts.

        Raises:
            ModelFailed: no usable answer, after retries.
            ModelRefused: the endpoint refuses for good.
        """
        ...
