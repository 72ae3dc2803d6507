"""Models that need no weights: deterministic, countable, and able to fail or hang when a test says so."""

from __future__ import annotations

import asyncio
import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

from knotwork.domain.model import NO_USAGE, Usage
from knotwork.errors import ModelFailed, PlatformError
from knotwork.ports.models import Embeddings, Extraction, ExtractionInput

WORD: Final = re.compile(r"\w+")
EMPTY_EXTRACTION: Final[Mapping[str, object]] = {"entities": [], "relationships": []}


class Faults:
    """What goes wrong at which text: a call that sees one of `failing` raises, one of `hanging` waits until it is none.

    Both can be changed at any time: a retry then succeeds, and a call that hangs goes on.
    """

    def __init__(self) -> None:
        self.failing: dict[str, PlatformError] = {}
        self.hanging: set[str] = set()

    def fail(self, text: str, error: PlatformError | None = None) -> None:
        """Raise `error` (by default a ModelFailed) at this text."""
        self.failing[text] = error or ModelFailed("the fake model was told to fail at this text")

    async def meet(self, texts: Iterable[str]) -> None:
        """Fail or hang if one of the texts is to."""
        for text in texts:
            if text in self.failing:
                raise self.failing[text]
            while text in self.hanging:  # noqa: ASYNC110 - a set tells nobody that it has changed
                await asyncio.sleep(0.01)


class HashEmbedder:
    """Embedder that adds up one pseudo-random direction a word, so that texts that share words are near each other.

    `calls` counts calls of `embed`, `texts` the texts in them. Usage counts one token a word.
    """

    def __init__(self, dimension: int = 64, *, version: int = 1) -> None:
        """Make an embedder of `dimension` ≥ 1; another `version` is another model, with other vectors and id."""
        self.id = f"hash/{version}@{dimension}"
        self.dimension = dimension
        self.calls = 0
        self.texts = 0
        self.faults = Faults()
        self._seed = f"{version}:".encode()

    async def embed(self, texts: Sequence[str], *, purpose: Literal["passage", "query"] = "passage") -> Embeddings:
        """See `Embedder`."""
        del purpose  # both are embedded alike
        self.calls += 1
        self.texts += len(texts)
        await self.faults.meet(texts)
        words = [WORD.findall(text.casefold()) for text in texts]
        return Embeddings([self._vector(found) for found in words], Usage(input_tokens=sum(map(len, words))))

    async def close(self) -> None:
        """Nothing to close."""

    def _vector(self, words: Sequence[str]) -> list[float]:
        counts = Counter(words) or Counter([""])
        directions = [[count * part for part in self._direction(word)] for word, count in counts.items()]
        # fsum: rounding must not depend on the order of the words.
        return _unit([math.fsum(parts) for parts in zip(*directions, strict=True)])

    def _direction(self, word: str) -> list[float]:
        key = self._seed + word.encode("utf-8", "surrogatepass")
        digest = hashlib.shake_128(key).digest(4 * self.dimension)
        numbers = (int.from_bytes(digest[at : at + 4], "big", signed=True) for at in range(0, len(digest), 4))
        return _unit([number + 0.5 for number in numbers])  # + 0.5: never the zero vector


class ReplayExtractor:
    """Extractor that answers with what was recorded for a text, and with a well-formed empty answer otherwise.

    `calls` counts calls, `seen` lists their inputs in order.
    """

    def __init__(
        self,
        answers: Mapping[str, object] | None = None,
        *,
        version: int = 1,
        calls_model: bool = False,
        usage: Usage = NO_USAGE,
    ) -> None:
        """Replay `answers` (text → raw extraction, of any shape), each with this `usage`."""
        self.id = f"replay/{version}"
        self.calls_model = calls_model
        self.answers = dict(answers or {})
        self.calls = 0
        self.seen: list[ExtractionInput] = []
        self.faults = Faults()
        self._usage = usage

    async def extract(self, chunk: ExtractionInput) -> Extraction:
        """See `Extractor`."""
        self.calls += 1
        self.seen.append(chunk)
        await self.faults.meet([chunk.text])
        return Extraction(raw=self.answers.get(chunk.text, EMPTY_EXTRACTION), usage=self._usage)

    async def close(self) -> None:
        """Nothing to close."""


def _unit(vector: Sequence[float]) -> list[float]:
    length = math.hypot(*vector)
    return [value / length for value in vector]
