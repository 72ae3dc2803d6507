"""Requests that came while the ledger was away: kept on disk, then done in order of acceptance."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import pytest

from knotwork.adapters.files.inbox import FileInbox
from knotwork.adapters.neo4j.catalogue import Neo4jCatalogue
from knotwork.adapters.neo4j.ledger import Neo4jLedger
from knotwork.adapters.neo4j.session import Neo4jSession, open_driver
from knotwork.domain.catalogue import AcceptedRun, Run, RunKind, RunState, SourceChange
from knotwork.domain.inputs import text_hash
from knotwork.domain.model import Heading, PageStart, ParsedText, Source, SourceRef, TenantId
from knotwork.errors import StoreUnavailable
from knotwork.ports.inbox import InboxEntry
from knotwork.run_ids import new_run_id
from knotwork.services.intake import Intake
from support.small_disk import small_disk
from support.stack import SentenceExtractor, Stack, Stores, build_stack, open_stack

TENANT = TenantId("acme")
REF = SourceRef("document", "a.md")
PARSED = ParsedText("One.\n\n苹果 😀 \u2028", "A title", (Heading(0, 1, "One"),), (PageStart(0, 1),))


def put_of(id_: str, text: str | ParsedText, tenant: TenantId = TENANT) -> InboxEntry:
    parsed = text if isinstance(text, ParsedText) else ParsedText(text)
    metadata = {"team": "sre", "years": [1, 2], "ok": True, "x": 1.5}
    source = Source(SourceRef("document", id_), parsed.title, text_hash(parsed), ("group:sre",), metadata)
    run = Run(new_run_id(), RunKind.INDEX, source.ref, accepted_at=1.5, source=source, seen_by=("group:sre",))
    return InboxEntry(tenant, AcceptedRun(run, parsed))


def delete_of(id_: str, tenant: TenantId) -> InboxEntry:
    return InboxEntry(tenant, AcceptedRun(Run(new_run_id(), RunKind.DELETE, SourceRef("document", id_))))


@pytest.fixture
async def inbox(tmp_path: Path) -> FileInbox:
    inbox = FileInbox(tmp_path / "inbox")
    await inbox.open()
    return inbox


async def test_requests_are_given_back_as_they_came_in_order_of_acceptance(inbox: FileInbox, tmp_path: Path) -> None:
    change = SourceChange(auth_subjects=("*",), metadata={"none": []}, clear_graph=True)
    entries = [
        put_of("' ` \\ 😀/..", PARSED),
        InboxEntry(TENANT, AcceptedRun(Run(new_run_id(), RunKind.UPDATE, REF, change=change))),
        delete_of("a.md", TENANT),
    ]
    await inbox.put(entries[::-1])
    again = FileInbox(tmp_path / "inbox")
    await again.open()
    assert await again.page() == entries
    assert await again.page(limit=1) == entries[:1]
    assert await again.page(after=entries[0].accepted.run.id) == entries[1:]
    await again.remove([entries[1].accepted.run.id, "unknown"])
    await again.set_aside([entries[2].accepted.run.id])
    assert await again.page() == entries[:1]


async def test_a_request_that_was_never_whole_is_gone_and_files_are_their_owners_alone(
    inbox: FileInbox, tmp_path: Path
) -> None:
    entry = put_of("a.md", PARSED)
    await inbox.put([entry])
    (path,) = (tmp_path / "inbox").iterdir()
    assert path.stat().st_mode & 0o077 == 0
    (tmp_path / "inbox" / "killed.draft").write_bytes(path.read_bytes()[:100])
    (tmp_path / "inbox" / "0.jsonl").write_text("{", encoding="utf-8")
    await inbox.open()
    assert await inbox.page() == [entry]
    assert sorted(one.suffix for one in (tmp_path / "inbox").iterdir()) == [".aside", ".jsonl"]


async def test_a_full_disk_refuses_by_name_and_loses_nothing_that_was_accepted(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", size_kb=256) as disk:
        inbox = FileInbox(disk)
        await inbox.open()
        kept = put_of("a.md", "x" * 100_000)
        await inbox.put([kept])
        for _ in range(3):
            with pytest.raises(StoreUnavailable, match="No space left"):
                await inbox.put([put_of("b.md", "y"), put_of("c.md", "z" * 300_000)])
        assert await inbox.page() == [kept]
        small = put_of("d.md", "there is room for this")
        await inbox.put([small])
        assert await inbox.page() == [kept, small]


@pytest.mark.neo4j
class TestWithALedger:
    @pytest.fixture
    async def stack(self, stores: Stores) -> AsyncGenerator[Stack]:
        async with open_stack(stores, SentenceExtractor()) as stack:
            yield stack

    async def start_with(self, stores: Stores, stack: Stack, inbox: FileInbox) -> Stack:
        """Services of the same tenant that find this inbox at their start."""
        await stack.intake.stop()
        following = build_stack(stores, stack.tenant, SentenceExtractor(), inbox=inbox)
        await following.intake.start()
        return following

    async def test_what_an_earlier_process_kept_is_done_in_order_and_once(
        self, stack: Stack, stores: Stores, inbox: FileInbox
    ) -> None:
        tenant = stack.tenant
        recorded = put_of("a.md", "Checkout calls Ledger.", tenant)  # killed between the two stores
        entries = [
            recorded,
            put_of("b.md", "Wallet calls Vault.", tenant),
            put_of("a.md", "Checkout calls Fraud.", tenant),
            delete_of("b.md", tenant),
            put_of("gone.md", "Nobody asks.", TenantId("was-deleted")),
            put_of("b.md", "Shipping calls Warehouse.", tenant),
        ]
        await stack.ledger.accept(tenant, [recorded.accepted])
        await inbox.put(entries)
        following = await self.start_with(stores, stack, inbox)
        try:
            newer = await following.put("c.md", "Orders call Checkout.")
            await following.intake.settle(tenant)
            assert newer.written == 1
            runs = await stack.ledger.runs(tenant)
            assert {run.state for run in runs} == {RunState.DONE}
            assert [run.id for run in runs[::-1]][:5] == [
                one.accepted.run.id for one in entries if one.tenant == tenant
            ]
            names = {one.id for one in (await following.exported()).entities}
            assert {"thing:fraud", "thing:warehouse"} <= names
            assert names.isdisjoint({"thing:vault", "thing:wallet", "thing:ledger"})
            assert await inbox.page() == []
        finally:
            await following.intake.stop()

    async def test_a_request_cancelled_in_the_inbox_is_recorded_and_never_started(
        self, stack: Stack, stores: Stores, inbox: FileInbox
    ) -> None:
        entry = put_of("a.md", "Checkout calls Ledger.", stack.tenant)
        await inbox.put([entry])
        await stack.intake.stop()
        following = build_stack(stores, stack.tenant, SentenceExtractor(), inbox=inbox)
        async with following.intake.hold_all():  # nothing is moved meanwhile
            await following.intake.start()
            run = entry.accepted.run
            assert following.intake.under_way(stack.tenant, run.id) == run
            cancelling = asyncio.create_task(following.intake.cancel(stack.tenant, run.id))
            await asyncio.sleep(0.05)
        try:
            assert (await cancelling).state is RunState.CANCELLED
            async with asyncio.timeout(30):
                while (stored := await stack.ledger.run(stack.tenant, run.id)) is None:  # noqa: ASYNC110 - a store tells nobody
                    await asyncio.sleep(0.05)
            assert stored == replace(run, state=RunState.CANCELLED, source=None)
            assert following.embedder.calls == 0
        finally:
            await following.intake.stop()


@pytest.mark.neo4j
async def test_without_an_inbox_a_request_is_refused_while_the_ledger_is_away(stores: Stores) -> None:
    driver = open_driver("bolt://127.0.0.1:9", "neo4j", "nobody listens there")
    session = Neo4jSession(driver)
    try:
        stack = build_stack(stores, TENANT, None)
        away = Intake(catalogue=Neo4jCatalogue(session), ledger=Neo4jLedger(session), indexer=stack.indexer)
        accepting = asyncio.create_task(away._acceptance.run())
        with pytest.raises(StoreUnavailable, match="Neo4j"):
            await away.put(TENANT, Source(REF, "", ""), PARSED)
        accepting.cancel()
    finally:
        await driver.close()
