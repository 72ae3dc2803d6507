"""A process that indexes and is killed (SIGKILL) at a chosen call of a port: `python -m support.crashing JSON`.

The argument is one JSON object, see `Plan`. Every call of the extractor is appended to a file and synced, so that a
test can count the calls of all processes.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import signal
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

from knotwork.adapters.neo4j.embedded import Neo4jAddress
from knotwork.domain.catalogue import TenantSettings
from knotwork.domain.model import TenantId
from knotwork.ports.models import Extraction, ExtractionInput
from support.stack import SentenceExtractor, build_stack, open_stores

Port = TypeVar("Port")


@dataclass(frozen=True, slots=True)
class Plan:
    """Where the stores are, whose runs are carried out, and where the process dies.

    It dies at the `die_at`-th awaited call of a port, counted from 1: before the call, during it, or after it. At 0 it
    lives, and ends when nothing waits.
    """

    bolt_uri: str
    user: str
    password: str
    folder: str
    tenant: str
    calls_file: str
    die_at: int = 0
    when: str = "after"

    def as_argument(self) -> str:
        return json.dumps(asdict(self))


class Dying:
    """Counts awaited calls over all the ports it wraps, and kills the process at one of them."""

    def __init__(self, plan: Plan) -> None:
        self.calls = 0
        self._plan = plan

    def port(self, port: Port) -> Port:
        return cast("Port", _DyingPort(port, self))

    async def call(self, function: Any, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        self.calls += 1
        if self.calls != self._plan.die_at:
            return await function(*args, **kwargs)
        if self._plan.when == "before":
            die()
        if self._plan.when == "during":
            asyncio.get_running_loop().call_later(0.004, die)  # a write takes some milliseconds
        result = await function(*args, **kwargs)
        die()
        return result


class _DyingPort:
    def __init__(self, port: object, dying: Dying) -> None:
        self._port, self._dying = port, dying

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._port, name)
        if not inspect.iscoroutinefunction(value):
            return value

        async def call(*args: object, **kwargs: object) -> object:
            return await self._dying.call(value, args, kwargs)

        return call


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class CountedExtractor(SentenceExtractor):
    """An extractor that calls a model, as far as the platform knows, and writes down each call."""

    def __init__(self, calls_file: Path) -> None:
        super().__init__(calls_model=True)
        self._file = calls_file.open("a", encoding="utf-8")

    async def extract(self, chunk: ExtractionInput) -> Extraction:
        self._file.write(json.dumps(chunk.text) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        return await super().extract(chunk)


async def carry_out(plan: Plan) -> int:
    """Carry out what the ledger holds for the tenant; how many port calls it took."""
    address = Neo4jAddress(plan.bolt_uri, "", plan.user, plan.password, 0, Path())
    dying = Dying(plan)
    async with open_stores(address, Path(plan.folder)) as stores:
        tenant = TenantId(plan.tenant)
        extractor = CountedExtractor(Path(plan.calls_file))
        stack = build_stack(stores, tenant, extractor, wrap=dying.port)
        await stack.catalogue.put_tenant(tenant, TenantSettings(graph=True))
        await stack.sync.follow(tenant)
        await stack.intake.start()
        await stack.intake.settle(tenant)
        await stack.intake.stop()
    return dying.calls


if __name__ == "__main__":
    print(asyncio.run(carry_out(Plan(**json.loads(sys.argv[1])))))  # noqa: T201 - the parent reads it
