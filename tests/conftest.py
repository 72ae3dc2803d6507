"""Fixtures that every suite may use."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio
from hypothesis import settings

from knotwork.adapters.neo4j.embedded import EmbeddedNeo4j, Neo4jAddress
from support.command_line import QUICK_JAVA
from support.stack import Stores, open_stores

# No deadline: how long an example takes says something about the machine, not about the code.
settings.register_profile("knotwork", deadline=None)
settings.load_profile("knotwork")


@pytest_asyncio.fixture(scope="session")
async def neo4j_server(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Neo4jAddress]:
    """One embedded Neo4j for the whole session, in a home of its own; its jars come from the shared cache.

    A start takes seconds, so tests share the server and part their data by tenant, or empty it first.
    """
    cache = os.environ.get("KNOTWORK_NEO4J_CACHE")
    server = EmbeddedNeo4j(
        tmp_path_factory.mktemp("neo4j-home"), cache=Path(cache) if cache else None, java_options=QUICK_JAVA
    )
    address = await server.start()
    try:
        yield address
    finally:
        await server.stop()


@pytest_asyncio.fixture(scope="session")
async def stores(neo4j_server: Neo4jAddress, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Stores]:
    """That Neo4j and one Qdrant Edge for the whole session; each test takes a tenant of its own (support/stack.py)."""
    async with open_stores(neo4j_server, tmp_path_factory.mktemp("stores")) as opened:
        yield opened
