"""Compaction of the embedded Neo4j: what is stored is copied into a fresh store, which takes the place of the old one.

Neo4j marks what is deleted as free and leaves it in its files and logs until something takes the place. Community
cannot copy a store without its free records: `neo4j-admin database copy` is Enterprise's, and a dump is the files as
they are. So a second server starts beside the first, everything is copied to it through Bolt, and their folders change
places.
"""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import AsyncIterator
from typing import Any

import structlog

from knotwork.adapters.neo4j.embedded import EmbeddedNeo4j
from knotwork.adapters.neo4j.session import Neo4jSession, Row, open_driver
from knotwork.errors import SetupFailed, WrittenMeanwhile
from knotwork.ports.compaction import Compacted

log = structlog.get_logger(__name__)

BATCH = 5_000  # nodes or relationships a transaction
ATTEMPTS = 3


class Neo4jCompaction:
    """Compactable over the embedded Neo4j. Takes room for a second store and server while it works."""

    def __init__(self, server: EmbeddedNeo4j, session: Neo4jSession) -> None:
        self._server, self._session = server, session

    async def compact(self) -> Compacted:
        """See `Compactable`. Reads are answered but for the seconds in which the server starts again.

        Raises:
            WrittenMeanwhile: somebody went on writing.
            SetupFailed: a server does not start; the message says why.
        """
        before = await asyncio.to_thread(self._server.size_bytes)
        async with self._server.copying() as copy:
            for attempt in range(1, ATTEMPTS + 1):
                last = await self._last_transaction()
                address = await copy.start()
                driver = open_driver(address.bolt_uri, address.user, address.password)
                try:
                    await copy_graph(self._session, Neo4jSession(driver))
                finally:
                    await driver.close()
                if await self._last_transaction() == last:
                    break
                log.info("neo4j_written_while_copied", attempt=attempt)
                await copy.discard()
            else:
                raise WrittenMeanwhile("Neo4j is being written to; compact again while nothing is ingested")
            old = await self._server.status()
            new = await self._server.take_over(copy)
        if old.address is not None and new.bolt_uri != old.address.bolt_uri:
            raise SetupFailed(f"Neo4j moved to {new.bolt_uri}, as its port was taken meanwhile; restart the service")
        self._session.forget_bookmarks()
        return Compacted("Neo4j", before, await asyncio.to_thread(self._server.size_bytes))

    async def _last_transaction(self) -> int:
        return (await self._session.rows("store/last_transaction"))[0]["last"]


async def copy_graph(source: Neo4jSession, target: Neo4jSession) -> None:
    """Copy every node and relationship into a store that is empty; memory is 8 bytes a node, and a batch."""
    await target.apply_schema()
    new_ids = array("q")  # by number in the source: the number in the target
    prefix = ""
    async for batch in _batches(source.stream("store/nodes")):
        numbers = [_number(row["id"]) for row in batch]
        rows = [{**row, "at": at} for at, row in enumerate(batch)]
        created = await target.execute("store/create_nodes", rows=rows)
        new_ids.extend([-1] * (max(numbers) + 1 - len(new_ids)))
        for row in created:
            new_ids[numbers[row["at"]]] = _number(row["id"])
        prefix = created[0]["id"].rpartition(":")[0]
    async for batch in _batches(source.stream("store/relationships")):
        rows = [
            {**row, **{end: f"{prefix}:{new_ids[_number(row[end])]}" for end in ("from_id", "to_id")}} for row in batch
        ]
        created = (await target.execute("store/create_relationships", rows=rows))[0]["created"]
        if created != len(rows):
            raise WrittenMeanwhile("Neo4j is being written to; compact again while nothing is ingested")


async def _batches(rows: AsyncIterator[Row]) -> AsyncIterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    async for row in rows:
        batch.append(dict(row))
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _number(element_id: str) -> int:
    """The number in an element id, `4:<database>:<number>`."""
    return int(element_id.rpartition(":")[2])
