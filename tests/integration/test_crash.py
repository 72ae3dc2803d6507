"""Killed at any call of a port and started again: the same graph, and no chunk is read twice."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path

import pytest

from knotwork.adapters.neo4j.catalogue import Neo4jCatalogue
from knotwork.adapters.neo4j.embedded import Neo4jAddress
from knotwork.adapters.neo4j.graph_store import Neo4jGraphStore
from knotwork.adapters.neo4j.ledger import Neo4jLedger
from knotwork.adapters.neo4j.session import Neo4jSession, open_driver
from knotwork.domain.catalogue import AcceptedRun, Run, RunKind, SourceChange, TenantSettings
from knotwork.domain.inputs import text_hash
from knotwork.domain.merge import merge_contributions
from knotwork.domain.model import Contribution, ParsedText, Source, SourceRef, TenantId
from knotwork.ports.vector_store import Collection, View
from knotwork.run_ids import new_run_id
from support.crashing import Plan
from support.stack import EdgeVectorStore, HashEmbedder

pytestmark = pytest.mark.neo4j

FIRST = {
    "a.md": "Checkout calls Ledger. Ledger stores Payments. Every order of the shop goes this way, day and night.\n\n"
    "Wallet calls Ledger. It does so for refunds only, which are few and far between in most weeks.",
    "b.md": "Checkout calls Ledger. Every order of the shop goes this way.\n\nShipping calls Warehouse.",
    "c.md": "Checkout calls Fraud. Fraud blocks Orders.",
}
READERS = SourceChange(auth_subjects=("group:sre", "user:ana"))
SECOND = {"a.md": FIRST["a.md"].replace("Wallet", "Voucher"), "b.md": None, "c.md": READERS}
MOMENTS = int(os.environ.get("KNOTWORK_CRASHES", "5"))  # kills a way of dying; a soak sets more than there are calls


class Crashes:
    """One tenant whose runs are carried out by processes that may die."""

    def __init__(self, address: Neo4jAddress, session: Neo4jSession, folder: Path, tenant: str) -> None:
        self._address, self._folder, self.tenant = address, folder, TenantId(tenant)
        self._catalogue, self._ledger = Neo4jCatalogue(session), Neo4jLedger(session)
        self._graph = Neo4jGraphStore(session)
        self.calls_file = folder / f"{tenant}.calls"

    async def request(self, wanted: Mapping[str, str | SourceChange | None]) -> None:
        """Record requests as a service does before it answers: texts, changes of a source, and None, which deletes."""
        await self._catalogue.put_tenant(self.tenant, TenantSettings(graph=True))
        runs: list[AcceptedRun] = []
        for id_, text in wanted.items():
            ref = SourceRef("document", id_)
            if text is None:
                runs.append(AcceptedRun(Run(new_run_id(), RunKind.DELETE, ref)))
                continue
            if isinstance(text, SourceChange):
                runs.append(AcceptedRun(Run(new_run_id(), RunKind.UPDATE, ref, change=text)))
                continue
            parsed = ParsedText(text)
            source = Source(ref, "", text_hash(parsed), size_chars=len(text))
            runs.append(AcceptedRun(Run(new_run_id(), RunKind.INDEX, ref, source=source), parsed))
        await self._ledger.accept(self.tenant, runs)

    async def carry_out(self, *, die_at: int = 0, when: str = "after") -> int | None:
        """Run a process over what is recorded; how many port calls it took, or None: it was killed."""
        plan = Plan(
            self._address.bolt_uri,
            self._address.user,
            self._address.password,
            str(self._folder / self.tenant),
            self.tenant,
            str(self.calls_file),
            die_at,
            when,
        )
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "support.crashing",
            plan.as_argument(),
            cwd=Path(__file__).parents[1],
            stdout=asyncio.subprocess.PIPE,
        )
        out, _ = await process.communicate()
        if process.returncode == -signal.SIGKILL:
            return None
        assert process.returncode == 0
        return int(out.split()[-1])

    async def state(self) -> tuple[Contribution, dict[str, list[tuple[str, str]]], dict[str, int]]:
        """The merged graph, the ids with their readers in each collection of the vector store, and the counts."""
        graph = merge_contributions([part async for part in self._graph.export_graph(self.tenant)])
        vectors = EdgeVectorStore(self._folder / self.tenant / "qdrant")
        await vectors.open()
        try:
            await vectors.prepare(model=HashEmbedder().id, dimension=HashEmbedder().dimension)
            ids: dict[str, list[tuple[str, str]]] = {}
            for collection in (Collection.CHUNKS, Collection.ENTITIES, Collection.RELATIONSHIPS):
                page, after = await vectors.scroll(self.tenant, collection, view=View(), after=None, limit=1000)
                assert after is None
                ids[collection] = sorted((point.id, str(point.payload["subjects"])) for point in page)
        finally:
            await vectors.close()
        return graph, ids, dict(await self._catalogue.counts(self.tenant))

    def most_calls(self) -> Counter[str]:
        """How often each text was given to the extractor, over all processes."""
        return Counter(json.loads(line) for line in self.calls_file.read_text(encoding="utf-8").splitlines())

    async def forget(self) -> None:
        await self._catalogue.delete_tenant(self.tenant)


@pytest.fixture(scope="module")
async def session(neo4j_server: Neo4jAddress) -> AsyncGenerator[Neo4jSession]:
    driver = open_driver(neo4j_server.bolt_uri, neo4j_server.user, neo4j_server.password)
    session = Neo4jSession(driver)
    await session.apply_schema()
    yield session
    await driver.close()


@pytest.mark.parametrize("when", ["before", "during", "after"])
async def test_a_process_killed_anywhere_leaves_what_the_next_one_completes(
    neo4j_server: Neo4jAddress, session: Neo4jSession, tmp_path: Path, when: str
) -> None:
    clean = Crashes(neo4j_server, session, tmp_path, f"clean-{when}")
    await clean.request(FIRST)
    await clean.request(SECOND)
    calls = await clean.carry_out()
    assert calls is not None
    expected = await clean.state()
    assert expected[0].relationships
    for number, die_at in enumerate(sorted({1 + calls * moment // MOMENTS for moment in range(MOMENTS)})):
        crashed = Crashes(neo4j_server, session, tmp_path, f"crash-{when}-{number}")
        await crashed.request(FIRST)
        await crashed.request(SECOND)
        first = await crashed.carry_out(die_at=die_at, when=when)
        assert first is None, "it was not killed"
        await crashed.carry_out()
        assert await crashed.state() == expected, f"killed {when} call {die_at} of {calls}"
        repeated = {text: count for text, count in crashed.most_calls().items() if count > 1}
        assert len(repeated) <= 1, "one call may have been under way, no more"
        assert set(crashed.most_calls()) == set(clean.most_calls())
        await crashed.forget()
    await clean.forget()
