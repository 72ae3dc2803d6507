"""Errors of qdrant-client at the border: which are worth another attempt, and what they become."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import stamina
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.http.exceptions import ApiException, ResponseHandlingException, UnexpectedResponse

from knotwork.errors import SetupFailed, StoreUnavailable

T = TypeVar("T")
CONFLICT = 409
_REFUSED = frozenset({401, 403})
_LATER = frozenset({408, 425, 429})
_SERVER_ERROR = 500
_ATTEMPTS = 4
_TIMEOUT_S = 30.0


async def attempt(operation: str, work: Callable[[], Awaitable[T]]) -> T:
    """Do it, again where the server was not reached or was overloaded; every request of this adapter may repeat.

    Raises:
        StoreUnavailable: no attempt got through.
        SetupFailed: the server refuses the request for good.
    """
    try:
        return await stamina.retry(on=is_transient, attempts=_ATTEMPTS, timeout=_TIMEOUT_S)(work)()
    except (ApiException, ResourceExhaustedResponse) as error:
        if is_transient(error):
            raise StoreUnavailable("Qdrant", f"{operation}: {error}") from error
        if status(error) in _REFUSED:
            raise SetupFailed("Qdrant refuses the key; set KNOTWORK_QDRANT_API_KEY to one that may write") from error
        raise SetupFailed(f"Qdrant refuses {operation}: {error}") from error


def is_transient(error: Exception) -> bool:
    """Whether the same request may succeed later."""
    if isinstance(error, ResponseHandlingException | ResourceExhaustedResponse):
        return True  # not reached, cut off, or told to wait
    code = status(error)
    return code is not None and (code >= _SERVER_ERROR or code in _LATER)


def status(error: Exception) -> int | None:
    """The HTTP status of the server's answer; None when there was none."""
    return error.status_code if isinstance(error, UnexpectedResponse) else None
