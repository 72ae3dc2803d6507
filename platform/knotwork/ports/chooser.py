"""A chooser: outlines of documents in, those worth reading for a question out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from knotwork.domain.model import NO_USAGE, Usage
from knotwork.domain.navigation import Outline


@dataclass(frozen=True, slots=True)
class Choice:
    """The raw answer of a chooser. Its shape is not trusted: `sanitise_choice` reads it."""

    raw: object
    usage: Usage = NO_USAGE


class Chooser(Protocol):
    """Picks documents by their outlines."""

    @property
    def id(self) -> str:
        """Identity: the way of choosing, with its model if it has one."""
        ...

    async def choose(self, question: str, outlines: Sequence[Outline], limit: int) -> Choice:
        """Pick at most `limit` of these documents: {"documents": [{"type", "id"}, ...]}, best first.

        `outlines` come with the likeliest by their words first. None may be picked: nothing shown answers the question.

        Raises:
            ModelFailed: no usable answer, after retries.
            ModelRefused: the endpoint refuses for good.
        """
        ...
