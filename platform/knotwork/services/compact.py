"""Compact: what was deleted leaves the files of the embedded stores too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack

from knotwork.ports.compaction import Compactable, Compacted
from knotwork.services.export import Tell, tell_nobody
from knotwork.services.intake import Intake


class Compaction:
    """Compacts the stores of one platform, one after the other, while no run of any tenant is under way."""

    def __init__(
        self,
        *,
        intake: Intake,
        stores: Sequence[Compactable],
        holds: Sequence[Callable[[], AbstractAsyncContextManager[None]]] = (),
    ) -> None:
        """`stores` are those that this process owns; servers of your own are not among them.

        Each of `holds` keeps back something that writes to them besides the intake.
        """
        self._intake, self._stores, self._holds = intake, stores, holds

    async def compact(self, tell: Tell = tell_nobody) -> list[Compacted]:
        """Rewrite every store; requests that come meanwhile wait to be accepted, queries are answered.

        Tenants and keys should not be changed meanwhile: Neo4j's part is then begun again, or refused.

        Raises:
            StoreUnavailable, SetupFailed: a store cannot be rewritten; it is as it was, those before it are compacted.
        """
        async with self._intake.hold_all(), AsyncExitStack() as held:
            for hold in self._holds:
                await held.enter_async_context(hold())
            done: list[Compacted] = []
            for store in self._stores:
                tell("writing what is stored into fresh files", len(done), len(self._stores))
                done.append(await store.compact())
            return done
