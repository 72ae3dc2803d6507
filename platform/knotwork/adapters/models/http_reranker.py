"""A reranker behind any HTTP endpoint of the common shapes: Cohere's, Jina's (and vLLM's), Voyage's, TEI's."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final, cast

from knotwork.adapters.models.openai_http import UNSUPPORTED, OpenAIEndpoint, RequestRefused, TryAgain
from knotwork.adapters.models.text import readable
from knotwork.domain.model import NO_USAGE, Usage
from knotwork.ports.reranker import Reranking

MAX_CHARS: Final = 8_000  # of a text; rerankers read 512 to 8,192 tokens
SHAPES: Final = ("documents", "texts")  # what requests call the texts: Cohere, Jina, vLLM, Voyage; TEI
ROWS: Final = ("results", "data")  # where an answer has its rows: Cohere, Jina, vLLM; Voyage. TEI's is the list itself
SCORES: Final = ("relevance_score", "score")


class HttpReranker:
    """Reranker over `POST {url}`: {query, documents} in, rows {index, relevance_score} out, in any order."""

    def __init__(self, endpoint: OpenAIEndpoint, *, path: str, model: str | None = None) -> None:
        """Ask for `path` at `endpoint`, whoever made which closes it; `model` where the endpoint serves several."""
        self.id = f"rerank/{model or endpoint.address}"
        self._endpoint, self._path, self._model = endpoint, path, model
        self._shape = 0  # the first of SHAPES that the endpoint is not known to refuse

    async def rerank(self, question: str, texts: Sequence[str]) -> Reranking:
        """See `Reranker`. An answer that leaves out a text or scores one twice is asked for again."""
        if not texts:
            return Reranking(())
        sent = [readable(text, max_chars=MAX_CHARS) for text in texts]

        async def attempt(_number: int) -> Reranking:
            answer = await self._post(readable(question), sent)
            return Reranking(self._scores(answer, expected=len(sent)), _usage(answer))

        return await self._endpoint.retrying(attempt)

    async def _post(self, question: str, texts: Sequence[str]) -> object:
        """Send the request in the first shape that is not refused, and remember the shape."""
        for shape in range(self._shape, len(SHAPES)):
            body: dict[str, object] = {"query": question, SHAPES[shape]: list(texts)}
            if self._model is not None:
                body["model"] = self._model
            if SHAPES[shape] == "texts":
                body["truncate"] = True
            try:
                answer = await self._endpoint.post_any(self._path, body)
            except RequestRefused as refusal:
                if refusal.status not in UNSUPPORTED or shape == len(SHAPES) - 1:
                    raise
            else:
                self._shape = shape
                return answer
        raise AssertionError  # the last shape returned or raised

    def _scores(self, answer: object, *, expected: int) -> list[float]:
        """The score of each text, in their order."""
        scores: dict[int, float] = {}
        rows = _rows(answer)
        for row in rows:
            index, score = row.get("index"), next((row[name] for name in SCORES if name in row), None)
            if isinstance(index, int) and isinstance(score, int | float) and math.isfinite(score):
                scores[index] = float(score)
        if len(rows) != expected or scores.keys() != set(range(expected)):
            raise TryAgain(
                f"{self.id} at {self._endpoint.address} did not score each of {expected} texts once; is it a reranker?"
            )
        return [scores[index] for index in range(expected)]


def _rows(answer: object) -> list[Mapping[str, object]]:
    if isinstance(answer, dict):
        fields = cast("dict[str, object]", answer)
        answer = next((fields[name] for name in ROWS if name in fields), None)
    if not isinstance(answer, list):
        return []
    return [cast("Mapping[str, object]", row) for row in cast("list[object]", answer) if isinstance(row, dict)]


def _usage(answer: object) -> Usage:
    """The tokens that an answer counts, wherever; absent or strange counts are 0."""
    found = _field(answer, "usage", "total_tokens") or _field(_field(answer, "meta"), "tokens", "input_tokens")
    return Usage(found, 0) if isinstance(found, int) and found > 0 else NO_USAGE


def _field(value: object, *path: str) -> object:
    for name in path:
        value = cast("dict[str, object]", value).get(name) if isinstance(value, dict) else None
    return value
