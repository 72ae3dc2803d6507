"""The promises of the Ledger port, kept by memory and by Neo4j."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from knotwork.adapters.neo4j.embedded import Neo4jAddress
from knotwork.adapters.neo4j.session import Neo4jSession
from knotwork.domain.catalogue import (
    AcceptedRun,
    GraphResult,
    IndexResult,
    Run,
    RunKind,
    RunState,
    RunStep,
    SourceChange,
    TenantSettings,
)
from knotwork.domain.model import Heading, Metadata, ParsedText, TenantId
from knotwork.errors import UnknownTenant
from knotwork.run_ids import new_run_id
from support.stores import Stores, doc, memory_stores, neo4j_session, neo4j_stores, new_tenant, put, source_of

PARSED = ParsedText("One.", "A title", (Heading(0, 1, "One"),))
RESULT = IndexResult(3, 1, 2, 40, "model", freshness_met=False, graph=GraphResult(ran=True, entities=5, pruned=1))


def index_run(name: str = "a.md") -> Run:
    source = source_of(doc(name), subjects=["user:ana"], metadata={"team": "sre", "n": 1, "years": [1, 2], "ok": True})
    return Run(new_run_id(), RunKind.INDEX, doc(name), accepted_at=12.5, source=replace(source, graph=True))


class LedgerContract:
    """A subclass adds the `stores` fixture and nothing else."""

    @pytest.fixture
    async def tenant(self, stores: Stores) -> TenantId:
        tenant = new_tenant()
        await stores.catalogue.put_tenant(tenant, TenantSettings())
        return tenant

    async def test_a_run_is_given_back_as_it_was_accepted(self, stores: Stores, tenant: TenantId) -> None:
        change = SourceChange(auth_subjects=("group:sre",), metadata={"x": [1.5, 2.0], "none": []}, clear_graph=True)
        runs = [
            index_run("' ` \\ 😀"),
            Run(new_run_id(), RunKind.UPDATE, doc("a.md"), accepted_at=1.0, change=change),
            Run(new_run_id(), RunKind.DELETE, doc("b.md")),
        ]
        await stores.ledger.accept(tenant, [AcceptedRun(runs[0], PARSED), *map(AcceptedRun, runs[1:])])
        assert [await stores.ledger.run(tenant, run.id) for run in runs] == runs
        assert await stores.ledger.texts(tenant, [run.id for run in runs]) == {runs[0].id: PARSED}
        await stores.ledger.accept(tenant, [])

    async def test_numbers_of_metadata_stay_what_they_are(self, stores: Stores, tenant: TenantId) -> None:
        metadata: Metadata = {"mixed": [1, 2.5], "ones": [1.0, 1, True], "big": [2**60], "digits": ["1"], "one": 1}
        source = source_of(doc("a.md"), metadata=metadata)
        index = Run(new_run_id(), RunKind.INDEX, doc("a.md"), source=source)
        update = Run(new_run_id(), RunKind.UPDATE, doc("a.md"), change=SourceChange(metadata=metadata))
        await stores.ledger.accept(tenant, [AcceptedRun(index, PARSED), AcceptedRun(update)])
        stored = await stores.ledger.run(tenant, index.id), await stores.ledger.run(tenant, update.id)
        assert stored[0] and stored[0].source and stored[1] and stored[1].change  # noqa: PT018 - for the type checker
        for found in (stored[0].source.metadata, stored[1].change.metadata):
            assert json.dumps(found) == json.dumps(metadata)  # in Python 1, 1.0 and True are equal, in an export not

    async def test_an_unknown_tenant_accepts_nothing(self, stores: Stores) -> None:
        tenant, run = new_tenant(), index_run()
        with pytest.raises(UnknownTenant):
            await stores.ledger.accept(tenant, [AcceptedRun(run, PARSED)])
        assert await stores.ledger.run(tenant, run.id) is None
        assert await stores.ledger.texts(tenant, [run.id]) == {}

    async def test_progress_is_recorded(self, stores: Stores, tenant: TenantId) -> None:
        run, other = index_run(), index_run("b.md")
        await stores.ledger.accept(tenant, [AcceptedRun(run, PARSED), AcceptedRun(other)])
        for step in (RunStep.CHUNKS, RunStep.GRAPH, RunStep.PRUNED):
            run = replace(run, step=step, state=RunState.RUNNING)
            await stores.ledger.record(tenant, [run])
            assert await stores.ledger.run(tenant, run.id) == run
            assert await stores.ledger.texts(tenant, [run.id]) == {run.id: PARSED}
        assert await stores.ledger.run(tenant, other.id) == other
        await stores.ledger.record(tenant, [])

    @pytest.mark.parametrize("state", [RunState.DONE, RunState.FAILED, RunState.CANCELLED])
    async def test_a_run_that_is_over_lets_go_of_what_came_with_it(
        self, stores: Stores, tenant: TenantId, state: RunState
    ) -> None:
        run = index_run()
        update = Run(new_run_id(), RunKind.UPDATE, doc("a.md"), change=SourceChange(metadata={"secret": "x"}))
        await stores.ledger.accept(tenant, [AcceptedRun(run, PARSED), AcceptedRun(update)])
        over = [
            replace(one, step=RunStep.DONE, state=state, result=RESULT, error_code="model_failed", error="why 😀")
            for one in (run, update)
        ]
        await stores.ledger.record(tenant, over)
        assert await stores.ledger.texts(tenant, [run.id]) == {}
        for one in over:
            assert await stores.ledger.run(tenant, one.id) == replace(one, source=None, change=None)

    async def test_a_run_accepted_again_stays_as_it_is(self, stores: Stores, tenant: TenantId) -> None:
        run, over = index_run(), index_run("b.md")
        both = [AcceptedRun(run, PARSED), AcceptedRun(over, PARSED)]
        await stores.ledger.accept(tenant, both)
        done = replace(over, step=RunStep.DONE, state=RunState.DONE, result=RESULT)
        await stores.ledger.record(tenant, [replace(run, step=RunStep.CHUNKS), done])
        await stores.ledger.accept(tenant, both)
        assert await stores.ledger.run(tenant, run.id) == replace(run, step=RunStep.CHUNKS)
        assert await stores.ledger.run(tenant, over.id) == replace(done, source=None)
        assert await stores.ledger.texts(tenant, [run.id]) == {run.id: PARSED}
        assert await stores.ledger.texts(tenant, [over.id]) == {}

    async def test_a_run_that_is_over_stays_as_it_is(self, stores: Stores, tenant: TenantId) -> None:
        run = index_run()
        await stores.ledger.accept(tenant, [AcceptedRun(run, PARSED)])
        done = replace(run, step=RunStep.DONE, state=RunState.DONE, result=RESULT)
        await stores.ledger.record(tenant, [done])
        await stores.ledger.record(tenant, [replace(run, state=RunState.CANCELLING)])
        assert await stores.ledger.run(tenant, run.id) == replace(done, source=None)
        assert run.id not in {one.id for _, one in await stores.ledger.unfinished()}

    async def test_readers_are_told_of_open_runs_and_of_those_about_what_they_may_read(
        self, stores: Stores, tenant: TenantId
    ) -> None:
        await put(stores, tenant, "a.md", ["One."], subjects=["user:ana"])
        await put(stores, tenant, "b.md", ["Two."], subjects=["user:ben"])
        about_a, about_b, also_b, gone, is_open = (index_run(name) for name in ("a.md", "b.md", "b.md", "c.md", "b.md"))
        runs = [about_a, about_b, also_b, gone, is_open]
        await stores.ledger.accept(tenant, [AcceptedRun(run) for run in runs])
        await stores.ledger.record(tenant, [replace(run, state=RunState.DONE) for run in runs[:-1]])

        async def told(subjects: list[str] | None, *others: str, after: str | None = None) -> list[str]:
            found = await stores.ledger.runs(tenant, subjects=subjects, others=others, after=after, limit=2)
            return [run.id for run in found]

        assert await told(["*", "user:ana"]) == [is_open.id, about_a.id]
        assert await told(["*", "user:ana"], gone.id) == [is_open.id, gone.id]
        assert await told(["*", "user:ana"], after=is_open.id) == [about_a.id]
        assert await told(["user:ben"], after=is_open.id) == [also_b.id, about_b.id]
        assert await told([], after=is_open.id) == []
        assert await told(None) == [is_open.id, gone.id]

    async def test_a_tenant_is_paused_until_it_is_resumed(self, stores: Stores, tenant: TenantId) -> None:
        other = new_tenant()
        for paused in (True, True, False, False, True):
            await stores.ledger.set_paused(tenant, paused=paused)
            assert (tenant in await stores.ledger.paused()) == paused
        await stores.catalogue.put_tenant(tenant, TenantSettings(graph=False))
        assert tenant in await stores.ledger.paused()
        with pytest.raises(UnknownTenant):
            await stores.ledger.set_paused(other, paused=True)
        assert other not in await stores.ledger.paused()
        await stores.catalogue.delete_tenant(tenant)
        assert tenant not in await stores.ledger.paused()

    async def test_unknown_runs_are_passed_over(self, stores: Stores, tenant: TenantId) -> None:
        run = index_run()
        await stores.ledger.record(tenant, [run, replace(run, id=new_run_id(), state=RunState.DONE)])
        assert await stores.ledger.runs(tenant) == []
        assert await stores.ledger.run(tenant, "unknown") is None
        assert await stores.ledger.texts(tenant, ["unknown"]) == {}

    async def test_pages_of_runs_come_newest_first(self, stores: Stores, tenant: TenantId) -> None:
        runs = [index_run(f"{number}.md") for number in range(7)]
        await stores.ledger.accept(tenant, [AcceptedRun(run) for run in runs[::-1]])
        found: list[Run] = []
        while page := await stores.ledger.runs(tenant, after=found[-1].id if found else None, limit=3):
            found += page
        assert found == runs[::-1]
        assert await stores.ledger.runs(new_tenant()) == []

    async def test_unfinished_runs_of_all_tenants_come_in_order_of_acceptance(
        self, stores: Stores, tenant: TenantId
    ) -> None:
        other = new_tenant()
        await stores.catalogue.put_tenant(other, TenantSettings())
        runs = [index_run(f"{number}.md") for number in range(8)]
        owners = [tenant, other] * 4
        for owner, run in list(zip(owners, runs, strict=True))[::-1]:
            await stores.ledger.accept(owner, [AcceptedRun(run)])
        await stores.ledger.record(
            tenant, [replace(runs[0], state=RunState.DONE), replace(runs[2], state=RunState.RUNNING)]
        )
        await stores.ledger.record(tenant, [replace(runs[4], state=RunState.CANCELLING)])
        await stores.ledger.record(other, [replace(runs[1], state=RunState.FAILED)])
        found: list[tuple[TenantId, Run]] = []
        while page := await stores.ledger.unfinished(after=found[-1][1].id if found else None, limit=3):
            found += page
        assert [run.id for _, run in found] == sorted(run.id for _, run in found)
        assert [(owner, run.id) for owner, run in found if owner in (tenant, other)] == [
            (owner, run.id) for owner, run in list(zip(owners, runs, strict=True))[2:]
        ]

    async def test_whoever_works_on_a_source_is_alone_and_sees_what_is_still_to_be_done(
        self, stores: Stores, tenant: TenantId
    ) -> None:
        runs = [index_run("a.md"), index_run("b.md"), index_run("a.md")]
        other = index_run("c.md")
        await stores.ledger.accept(tenant, [AcceptedRun(run, PARSED) for run in [*runs, other]])
        inside: list[str] = []

        async def work(own: list[Run]) -> None:
            async with stores.ledger.alone(tenant, own) as due:
                inside.append("in")
                await asyncio.sleep(0.05)
                await stores.ledger.record(tenant, [replace(run, state=RunState.DONE) for run in own if run.id in due])
                inside.append(f"{len(due)} out")

        async with stores.ledger.alone(tenant, [other]):  # keeps nobody from other sources
            await asyncio.wait_for(asyncio.gather(work(runs[:2]), work(runs[2:0:-1])), 5)
        assert inside == ["in", "2 out", "in", "1 out"]
        async with stores.ledger.alone(tenant, [*runs, index_run("never-accepted.md")]) as due:
            assert list(due) == []

    async def test_tenants_are_apart(self, stores: Stores, tenant: TenantId) -> None:
        other, run = new_tenant(), index_run()
        await stores.catalogue.put_tenant(other, TenantSettings())
        await stores.ledger.accept(tenant, [AcceptedRun(run, PARSED)])
        assert await stores.ledger.run(other, run.id) is None
        assert await stores.ledger.texts(other, [run.id]) == {}
        await stores.ledger.accept(other, [AcceptedRun(run)])
        await stores.ledger.record(other, [replace(run, state=RunState.DONE)])
        assert await stores.ledger.run(tenant, run.id) == run
        assert await stores.ledger.texts(tenant, [run.id]) == {run.id: PARSED}


class TestMemoryLedger(LedgerContract):
    @pytest.fixture
    def stores(self) -> Stores:
        return memory_stores()


@pytest.fixture(scope="module")
async def session(neo4j_server: Neo4jAddress) -> AsyncIterator[Neo4jSession]:
    async with neo4j_session(neo4j_server) as session:
        yield session


@pytest.mark.neo4j
class TestNeo4jLedger(LedgerContract):
    @pytest.fixture
    def stores(self, session: Neo4jSession) -> Stores:
        return neo4j_stores(session)
