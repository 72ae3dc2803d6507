"""The law of the graph, tried by a machine: see support/law_machine.py. `make soak` runs it for longer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from knotwork.adapters.neo4j.embedded import Neo4jAddress
from support.law_machine import HASH_SEED, LAW, Law, World
from support.law_process import Processes

pytestmark = pytest.mark.neo4j

HISTORIES = 25


@pytest.fixture
def world(neo4j_server: Neo4jAddress, tmp_path: Path) -> Iterator[World]:
    world = World(neo4j_server, tmp_path, Processes(HASH_SEED))
    Law.world = world
    yield world
    world.close()


def test_whatever_happened_a_fresh_index_of_what_is_present_is_the_same(world: World) -> None:
    run_state_machine_as_test(Law, settings=settings(LAW, max_examples=HISTORIES, derandomize=True))
    assert world.done["histories"] >= HISTORIES
    assert world.done["killed"] >= 1
    assert world.done["stopped dead"] >= 1
    assert world.done["models changed"] >= 1
    assert world.done["models half changed"] >= 1
    assert world.done["failing texts"] >= 1
    assert world.done["extractions"] >= 10 * HISTORIES
