"""What every request of the application shares."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import cast

from fastapi import Request

from knotwork.api.metrics import Metrics
from knotwork.bootstrap import Platform

READ_AT_ONCE = 2  # uploads held in memory at once, to be parsed and recorded; others wait on disk


@dataclass(frozen=True, slots=True)
class State:
    """The platform, the secret of its operator, and the limits of this process."""

    platform: Platform
    operator_token: str = field(repr=False)
    metrics: Metrics
    stopping: asyncio.Event = field(default_factory=asyncio.Event)  # set when the service ends: streams end too
    reading: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(READ_AT_ONCE))


def state_of(request: Request) -> State:
    """The state of the application that serves this request."""
    return cast("State", request.app.state.knotwork)
