"""A server that dies is started again; one that keeps dying is given up, and health says so."""

from __future__ import annotations

import asyncio

import pytest

from knotwork.adapters.neo4j import keeper
from knotwork.adapters.neo4j.keeper import MOST_QUICK_DEATHS, Keeper
from knotwork.errors import SetupFailed


class Server:
    """A server of which a test says when it dies and whether it starts; starts take no time."""

    def __init__(self, *, dies_at_once: bool = False, refuses: str = "") -> None:
        self.is_dead = False
        self.starts = 0
        self.now = 0.0
        self._dies_at_once, self._refuses = dies_at_once, refuses

    async def is_gone(self) -> bool:
        return self.is_dead

    async def restart(self) -> None:
        self.starts += 1
        if self._refuses:
            raise SetupFailed(self._refuses)
        self.is_dead = self._dies_at_once

    def kept(self) -> Keeper:
        return Keeper(self.is_gone, self.restart, watch_s=0.0, first_pause_s=0.0, clock=lambda: self.now)


async def let_it_look() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_server_that_dies_is_started_again_however_often_it_happens_over_the_days() -> None:
    server = Server()
    kept = server.kept()
    watching = asyncio.create_task(kept.run())
    for death in range(1, 3 * MOST_QUICK_DEATHS):
        server.now += keeper.QUICK_S + 1
        server.is_dead = True
        await let_it_look()
        assert (server.starts, server.is_dead, kept.trouble) == (death, False, None)
    watching.cancel()


async def test_a_server_that_dies_at_once_each_time_is_given_up_and_that_is_said() -> None:
    server = Server(dies_at_once=True)
    server.is_dead = True
    kept = server.kept()
    async with asyncio.timeout(5):
        await kept.run()
    assert server.starts == MOST_QUICK_DEATHS
    assert kept.trouble is not None
    assert "not started again" in kept.trouble


async def test_a_server_that_cannot_be_started_is_given_up_and_the_reason_is_told() -> None:
    server = Server(refuses="no room on the disk")
    server.is_dead = True
    kept = server.kept()
    async with asyncio.timeout(5):
        await kept.run()
    assert server.starts == MOST_QUICK_DEATHS
    assert kept.trouble is not None
    assert "no room on the disk" in kept.trouble


async def test_pauses_before_starts_grow_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(keeper.asyncio, "sleep", sleep)
    server = Server(dies_at_once=True)
    server.is_dead = True
    await Keeper(server.is_gone, server.restart, watch_s=-1.0, clock=lambda: server.now).run()
    assert [pause for pause in pauses if pause >= 0] == [0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]
