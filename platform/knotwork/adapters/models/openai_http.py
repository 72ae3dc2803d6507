"""Requests to an OpenAI-compatible endpoint: limits, time-outs, retries, and errors in our own terms."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, TypeVar, cast
from urllib.parse import urlsplit

import openai
import stamina

from knotwork.domain.model import NO_USAGE, Usage
from knotwork.errors import ModelFailed, ModelRefused

Answer = TypeVar("Answer")

NO_KEY: Final = "no-key"  # the client insists on one, and would take OPENAI_API_KEY to a foreign host
LONGEST_WAIT_S: Final = 60.0  # an endpoint that asks for more gets its next request from a later run
MESSAGE_CHARS: Final = 200
REQUEST_TIMEOUT: Final = 408
TOO_MANY_REQUESTS: Final = 429
SERVER_ERROR: Final = 500
NO_PERMISSION: Final = (401, 403)
UNSUPPORTED: Final = (400, 422)


class TryAgain(ModelFailed):
    """An attempt failed in a way that may pass. `wait_s`: seconds the endpoint asked for; None: it did not."""

    def __init__(self, message: str, *, wait_s: float | None = None) -> None:
        super().__init__(message)
        self.wait_s = wait_s


class RequestRefused(ModelRefused):
    """The endpoint refused the request with this status."""

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status


class OpenAIEndpoint:
    """One endpoint and its limits. Error messages hold its address and what it said, never the key."""

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        timeout_s: float = 60.0,
        attempts: int = 4,
        concurrency: int = 4,
        backoff_s: float = 0.5,
    ) -> None:
        """Prepare requests below `url` (it ends with /v1 as a rule); nothing is sent yet.

        Args:
            url: Base URL; `embeddings` or `chat/completions` is added to it.
            api_key: Sent as bearer token.
            timeout_s: Seconds one request may take, from its first byte to the last of the answer.
            attempts: Attempts at a request, ≥ 1.
            concurrency: Requests at once, ≥ 1; one that waits before its next attempt does not count.
            backoff_s: Seconds before the second attempt; doubled for each later one, with jitter of the same size.
        """
        parts = urlsplit(url)
        self.address = f"{parts.scheme}://{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}{parts.path}"
        self._key = api_key or NO_KEY
        self._client = openai.AsyncOpenAI(base_url=url, api_key=self._key, timeout=timeout_s, max_retries=0)
        self._timeout_s = timeout_s
        self._attempts = max(1, attempts)
        self._backoff_s = backoff_s
        self._turns = asyncio.Semaphore(max(1, concurrency))

    async def retrying(self, attempt: Callable[[int], Awaitable[Answer]]) -> Answer:
        """Return what `attempt(number)` returns, number counting from 1, trying again after each TryAgain.

        Raises:
            ModelFailed: the last attempt failed too, or the endpoint asked for a wait over a minute.
            ModelRefused: an attempt was refused; this is not tried again.
        """
        async for turn in stamina.retry_context(
            on=_wait_for,
            attempts=self._attempts,
            timeout=None,
            wait_initial=self._backoff_s,
            wait_max=LONGEST_WAIT_S,
            wait_jitter=self._backoff_s,
        ):
            with turn:
                return await attempt(turn.num)
        raise AssertionError  # stamina returns or raises

    async def post(self, path: str, body: Mapping[str, object]) -> Mapping[str, object]:
        """Send one request and return the JSON object of the answer.

        Raises:
            TryAgain: no answer in time, 408, 429, 5xx, or an answer that is no JSON object.
            RequestRefused: any other status.
        """
        answer = await self.post_any(path, body)
        if not isinstance(answer, dict):
            raise TryAgain(f"{self.address} answered with something that is no JSON object; is the address right?")
        return cast("dict[str, object]", answer)

    async def post_any(self, path: str, body: Mapping[str, object]) -> object:
        """Send one request and return the JSON of the answer, None where it is none; errors as of `post`."""
        try:
            async with self._turns, asyncio.timeout(self._timeout_s):
                # Raw JSON, since endpoints differ: the client's own types would take whatever comes unchecked.
                return await self._client.post(f"/{path}", body=dict(body), cast_to=object)
        except (TimeoutError, openai.APITimeoutError):
            raise TryAgain(f"{self.address} did not answer within {self._timeout_s:g} s") from None
        except openai.APIStatusError as error:
            raise self._translated(error) from None
        except openai.APIError as error:
            raise TryAgain(f"{self.address} cannot be reached: {self._said(error.__cause__ or error)}") from None
        except (ValueError, RecursionError):  # from the client's JSON parser
            return None

    async def close(self) -> None:
        """Close its connections."""
        await self._client.close()

    def _translated(self, error: openai.APIStatusError) -> TryAgain | RequestRefused:
        status = error.status_code
        if status in {REQUEST_TIMEOUT, TOO_MANY_REQUESTS} or status >= SERVER_ERROR:
            wait_s = _seconds(error.response.headers.get("retry-after"))
            return TryAgain(f"{self.address} answered {status}: {self._said(error)}", wait_s=wait_s)
        if status in NO_PERMISSION:  # what it says may repeat the key
            return RequestRefused(
                f"{self.address} answered {status}: check the API key configured for it", status=status
            )
        return RequestRefused(f"{self.address} answered {status}: {self._said(error)}", status=status)

    def _said(self, error: BaseException) -> str:
        """The start of a message, without the key."""
        return str(error).replace(self._key, "***")[:MESSAGE_CHARS]


def usage_of(answer: Mapping[str, object]) -> Usage:
    """The tokens that an answer counts; absent or strange counts are 0."""
    usage = answer.get("usage")
    if not isinstance(usage, dict):
        return NO_USAGE
    counts = cast("dict[str, object]", usage)
    return Usage(_count(counts.get("prompt_tokens")), _count(counts.get("completion_tokens")))


def _count(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _wait_for(error: Exception) -> bool | float:
    """Whether to try again (stamina's hook): a number is the seconds to wait, True the usual back-off."""
    if not isinstance(error, TryAgain):
        return False
    if error.wait_s is None:
        return True
    return error.wait_s if error.wait_s <= LONGEST_WAIT_S else False


def _seconds(retry_after: str | None) -> float | None:
    """Seconds of a Retry-After header; its other form, a date, is left to the usual back-off."""
    try:
        seconds = float(retry_after or "")
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None
