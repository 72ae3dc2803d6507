"""Questions to a chat model that are to be answered in JSON, in the most helpful form that its endpoint takes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from pydantic import BaseModel, ValidationError

from knotwork.adapters.models.answer_json import Unparseable
from knotwork.adapters.models.openai_http import UNSUPPORTED, OpenAIEndpoint, RequestRefused, TryAgain, usage_of
from knotwork.domain.model import NO_USAGE, Usage

SEED: Final = 7

Messages = Sequence[Mapping[str, str]]


class JsonChat:
    """One chat model behind `POST {url}/chat/completions`; whoever made the endpoint closes it."""

    def __init__(self, endpoint: OpenAIEndpoint, *, model: str, name: str, schema: Mapping[str, object]) -> None:
        """Ask `model` for answers of this JSON schema, called `name`; the messages must ask for it in words too."""
        self._endpoint, self._model = endpoint, model
        self._forms = _forms(name, schema)
        self._form = 0  # the first of them that the endpoint is not known to refuse

    async def ask(self, conversation: Messages, read: Callable[[str], object]) -> tuple[object, Usage]:
        """What `read` makes of the answer. One without JSON is asked for again, as a time-out is; its tokens count.

        Args:
            conversation: The messages.
            read: From the model's text to its JSON; runs in a thread, as repairing a long answer takes a while.
        Raises:
            ModelFailed: error, time-out, or no answer that can be read, after retries.
            ModelRefused: the endpoint refuses for good.
        """
        used: list[Usage] = []

        async def attempt(number: int) -> object:
            answer = await self._post(conversation, seed=SEED + number - 1)  # the same seed would give the same prose
            used.append(usage_of(answer))
            try:
                return await asyncio.to_thread(read, _content(answer))
            except Unparseable:
                raise TryAgain(
                    f"model {self._model!r} at {self._endpoint.address} answered without JSON; use a larger model"
                ) from None

        raw = await self._endpoint.retrying(attempt)
        return raw, sum(used, start=NO_USAGE)

    async def _post(self, conversation: Messages, *, seed: int) -> Mapping[str, object]:
        """Send the request in the first form that is not refused, and remember the form."""
        for form in range(self._form, len(self._forms)):
            body = {"model": self._model, "messages": list(conversation), **self._forms[form]}
            if "seed" in body:
                body["seed"] = seed
            try:
                answer = await self._endpoint.post("chat/completions", body)
            except RequestRefused as refusal:
                if refusal.status not in UNSUPPORTED or form == len(self._forms) - 1:
                    raise
            else:
                self._form = form
                return answer
        raise AssertionError  # the last form returned or raised


def _forms(name: str, schema: Mapping[str, object]) -> tuple[Mapping[str, object], ...]:
    """From the most helpful form of request to one that every endpoint takes."""
    described = {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": schema}}
    return (
        {"temperature": 0, "seed": SEED, "response_format": described},
        {"temperature": 0, "seed": SEED, "response_format": {"type": "json_object"}},
        {"temperature": 0, "seed": SEED},
        {},  # models that think refuse a temperature
    )


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
