"""An extractor behind any OpenAI-compatible chat endpoint."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from pydantic import BaseModel, ValidationError

from knotwork.adapters.models.answer_json import Unparseable, read_answer
from knotwork.adapters.models.extraction_prompt import ANSWER_SCHEMA, PROMPT_VERSION, messages
from knotwork.adapters.models.openai_http import UNSUPPORTED, OpenAIEndpoint, RequestRefused, TryAgain, usage_of
from knotwork.domain.model import NO_USAGE, Usage
from knotwork.ports.models import Extraction, ExtractionInput

SEED: Final = 7

# From the most helpful form of request to one that every endpoint takes; the prompt asks for the same JSON in words.
FORMS: Final[tuple[Mapping[str, object], ...]] = (
    {
        "temperature": 0,
        "seed": SEED,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "extraction", "strict": True, "schema": ANSWER_SCHEMA},
        },
    },
    {"temperature": 0, "seed": SEED, "response_format": {"type": "json_object"}},
    {"temperature": 0, "seed": SEED},
    {},  # models that think refuse a temperature
)


class OpenAIExtractor:
    """Extractor over `POST {url}/chat/completions` with one model. Answers are repaired as JSON, not judged."""

    calls_model = True

    def __init__(self, endpoint: OpenAIEndpoint, *, model: str) -> None:
        """Extract with `model` at `endpoint`, which extractors of other models may share; whoever made it closes it."""
        self.id = f"openai/{model}/prompt-{PROMPT_VERSION}"
        self._endpoint = endpoint
        self._model = model
        self._form = 0  # the first of FORMS that the endpoint is not known to refuse

    async def extract(self, chunk: ExtractionInput) -> Extraction:
        """See `Extractor`. An answer without JSON is asked for again, as a time-out is; its tokens count too."""
        conversation = messages(chunk)
        used: list[Usage] = []

        async def attempt(number: int) -> object:
            answer = await self._ask(conversation, seed=SEED + number - 1)  # the same seed would give the same prose
            used.append(usage_of(answer))
            try:
                # In a thread: repairing a long answer takes a while.
                return await asyncio.to_thread(read_answer, _content(answer))
            except Unparseable:
                raise TryAgain(
                    f"model {self._model!r} at {self._endpoint.address} answered without JSON; use a larger model"
                ) from None

        raw = await self._endpoint.retrying(attempt)
        return Extraction(raw=raw, usage=sum(used, start=NO_USAGE))

    async def close(self) -> None:
        """Nothing to close."""

    async def _ask(self, conversation: list[dict[str, str]], *, seed: int) -> Mapping[str, object]:
        """Send the request in the first form that is not refused, and remember the form."""
        for form in range(self._form, len(FORMS)):
            body = {"model": self._model, "messages": conversation, **FORMS[form]}
            if "seed" in body:
                body["seed"] = seed
            try:
                answer = await self._endpoint.post("chat/completions", body)
            except RequestRefused as refusal:
                if refusal.status not in UNSUPPORTED or form == len(FORMS) - 1:
                    raise
            else:
                self._form = form
                return answer
        raise AssertionError  # the last form returned or raised


def _content(answer: Mapping[str, object]) -> str:
    """The text of the first choice, whether it was finished or cut off; "" when there is none."""
    try:
        content = _Completion.model_validate(answer).choices[0].message.content
    except (ValidationError, IndexError):
        return ""
    return content or ""


class _Message(BaseModel):
    content: str | None = None


class _Choice(BaseModel):
    message: _Message


class _Completion(BaseModel):
    choices: list[_Choice]
