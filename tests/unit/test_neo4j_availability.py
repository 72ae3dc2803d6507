"""Callers do not each wait to find out that Neo4j is away."""

from __future__ import annotations

import socket
import time

import pytest

from knotwork.adapters.neo4j.availability import AGAIN_S, Availability
from knotwork.adapters.neo4j.session import Neo4jSession, open_driver
from knotwork.errors import StoreUnavailable


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_after_a_failure_nobody_tries_for_a_second_and_then_one_at_a_time() -> None:
    clock = Clock()
    availability = Availability(clock)
    assert not availability.is_away
    availability.failed()
    assert availability.is_away
    with pytest.raises(StoreUnavailable, match="Neo4j"):
        availability.begin_probe()
    clock.now += AGAIN_S
    availability.begin_probe()
    with pytest.raises(StoreUnavailable):  # the one that tries is still at it
        availability.begin_probe()
    availability.answered()
    assert not availability.is_away


async def test_the_first_read_finds_a_closed_port_within_two_seconds_and_those_after_it_at_once() -> None:
    with socket.socket() as closed:  # bound and not listening: it refuses
        closed.bind(("127.0.0.1", 0))
        driver = open_driver(f"bolt://127.0.0.1:{closed.getsockname()[1]}", "neo4j", "secret")
        try:
            session = Neo4jSession(driver)
            started = time.monotonic()
            with pytest.raises(StoreUnavailable):
                await session.rows("read/tenants")
            first_s = time.monotonic() - started
            with pytest.raises(StoreUnavailable, match="a moment ago"):
                await session.rows("read/tenants")
            session._availability._tried_at = time.monotonic() - AGAIN_S
            with pytest.raises(StoreUnavailable, match="ServiceUnavailable"):
                await session.rows("read/tenants")
            assert first_s < 2.5
            assert time.monotonic() - started - first_s < 0.5
        finally:
            await driver.close()
