"""Counting and quotas: what is counted, what is refused and until when, and what an outage, a stop or a kill leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork.adapters.files.usage_journal import FileUsageJournal
from knotwork.adapters.memory.catalogue import MemoryCatalogue
from knotwork.adapters.memory.database import MemoryDatabase
from knotwork.adapters.memory.usage import MemoryUsageStore
from knotwork.domain.catalogue import TenantSettings
from knotwork.domain.model import Passage, TenantId, Usage
from knotwork.domain.retrieval import Mode, Reader, RetrievalResult, RetrieveOptions
from knotwork.domain.usage import Period, Quota, UsageCount, UsageKey, UsageRow
from knotwork.errors import ModelFailed, ModeNotConfigured, QuotaExceeded, StoreUnavailable
from knotwork.ports.usage import UsageBatch
from knotwork.services import usage
from knotwork.services.metered import MeteredRetrieval
from knotwork.services.usage import UsageMeter

ACME, OTHER = TenantId("acme"), TenantId("other")
NOON = datetime(2026, 12, 31, 12, tzinfo=UTC)
TODAY = NOON.date()


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> float:
        return self.now.timestamp()


class Store(MemoryUsageStore):
    """A store that can be away, or take a batch and not say so."""

    def __init__(self, database: MemoryDatabase) -> None:
        super().__init__(database)
        self.is_away = self.is_silent = self.is_broken = False
        self.calls = 0

    async def add(self, batch: UsageBatch) -> None:
        self.calls += 1
        if self.is_broken:
            raise ValueError("of a kind that nobody thought of")
        if self.is_away:
            raise StoreUnavailable("Neo4j", "away")
        await super().add(batch)
        if self.is_silent:
            raise StoreUnavailable("Neo4j", "the connection broke")


class Kept:
    """A journal in memory that outlives the meter."""

    def __init__(self) -> None:
        self.batches: list[UsageBatch] = []

    async def load(self) -> list[UsageBatch]:
        return list(self.batches)

    async def save(self, batches: Sequence[UsageBatch]) -> None:
        self.batches = list(batches)


class World:
    """One database, and meters over it that come and go as processes do."""

    def __init__(self) -> None:
        self.database, self.clock, self.journal = MemoryDatabase(), Clock(), Kept()
        self.store = Store(self.database)

    async def meter(self) -> UsageMeter:
        for tenant in (ACME, OTHER):
            await MemoryCatalogue(self.database).put_tenant(tenant, TenantSettings())
        meter = UsageMeter(self.store, journal=self.journal, keep_days=400, clock=self.clock)
        await meter.load()  # as `start` does, without the task that writes each second
        return meter

    async def stored(self, tenant: TenantId = ACME) -> int:
        rows = await self.store.rows(tenant, since=date.min, until=date.max)
        return sum(row.count.queries for row in rows)


@pytest.fixture
def world() -> World:
    return World()


def ask(meter: UsageMeter, tenant: TenantId = ACME, *, mode: str = "local", tokens: int = 7) -> None:
    with meter.query(tenant, mode) as record:
        record.model, record.usage = "minilm", Usage(tokens, 0)


async def test_a_query_leaves_one_record(world: World) -> None:
    meter = await world.meter()
    ask(meter)
    ask(meter, tokens=3)
    ask(meter, OTHER)
    expected = [UsageRow(UsageKey(ACME, TODAY, "local", "minilm"), UsageCount(2, 10, 0))]
    assert await meter.rows(ACME, since=TODAY, until=TODAY) == expected
    assert world.store.calls == 0
    await meter.flush()
    assert await meter.rows(ACME, since=TODAY, until=TODAY) == expected
    assert await world.store.rows(ACME, since=TODAY, until=TODAY) == expected


async def test_counts_are_written_without_being_asked_for_and_errors_do_not_end_that(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usage, "FLUSH_S", 0.001)
    meter = await world.meter()
    await meter.start()
    world.store.is_broken = True
    ask(meter)
    async with asyncio.timeout(10):
        while world.store.calls < 2:  # noqa: ASYNC110 - no event tells of a write
            await asyncio.sleep(0.001)
        world.store.is_broken = False
        while await world.stored() < 1:  # noqa: ASYNC110 - as above
            await asyncio.sleep(0.001)
    await meter.stop()
    assert await world.stored() == 1


async def test_a_query_that_fails_leaves_none_and_counts_for_no_quota(world: World) -> None:
    meter = await world.meter()
    await meter.set_quota(ACME, Quota(queries_per_day=1))
    for error in (StoreUnavailable("Neo4j", "away"), asyncio.CancelledError()):
        with pytest.raises(type(error)), meter.query(ACME, "local"):
            raise error
    ask(meter)
    assert meter.used(ACME, Period.DAY) == UsageCount(1, 7, 0)


@pytest.mark.parametrize(
    ("quota", "limit", "ends_at"),
    [
        (Quota(queries_per_day=2), "queries_per_day", "2027-01-01T00:00:00+00:00"),
        (Quota(tokens_per_day=14), "tokens_per_day", "2027-01-01T00:00:00+00:00"),
        (Quota(queries_per_month=2, queries_per_day=2), "queries_per_month", "2027-01-01T00:00:00+00:00"),
        (Quota(tokens_per_month=8), "tokens_per_month", "2027-01-01T00:00:00+00:00"),
    ],
)
async def test_a_quota_is_refused_until_its_period_ends(world: World, quota: Quota, limit: str, ends_at: str) -> None:
    meter = await world.meter()
    await meter.set_quota(ACME, quota)
    ask(meter)
    ask(meter)
    with pytest.raises(QuotaExceeded) as caught:
        ask(meter)
    assert (caught.value.limit, caught.value.ends_at, caught.value.retry_after_s) == (limit, ends_at, 12 * 3600)
    ask(meter, OTHER)
    world.clock.now = datetime(2027, 1, 1, tzinfo=UTC)
    ask(meter)


async def test_a_quota_of_the_month_outlasts_the_day(world: World) -> None:
    meter = await world.meter()
    world.clock.now = datetime(2026, 2, 27, 23, 59, 59, 900_000, tzinfo=UTC)
    await meter.set_quota(ACME, Quota(queries_per_day=1, queries_per_month=2))
    ask(meter)
    with pytest.raises(QuotaExceeded) as caught:
        ask(meter)
    assert (caught.value.limit, caught.value.retry_after_s) == ("queries_per_day", 1)
    world.clock.now = datetime(2026, 2, 28, 1, tzinfo=UTC)
    ask(meter)
    with pytest.raises(QuotaExceeded) as caught:
        ask(meter)
    assert (caught.value.limit, caught.value.ends_at) == ("queries_per_month", "2026-03-01T00:00:00+00:00")


async def test_a_quota_of_none_refuses_the_first_query(world: World) -> None:
    meter = await world.meter()
    await meter.set_quota(ACME, Quota(tokens_per_day=0))
    with pytest.raises(QuotaExceeded):
        ask(meter)


async def test_queries_at_once_do_not_exceed_a_quota(world: World) -> None:
    meter = await world.meter()
    await meter.set_quota(ACME, Quota(queries_per_day=3))

    async def slow() -> bool:
        try:
            with meter.query(ACME, "local"):
                await asyncio.sleep(0)
                await meter._reload()  # which must not forget those under way
        except QuotaExceeded:
            return False
        return True

    assert sorted(await asyncio.gather(*(slow() for _ in range(8)))) == [False] * 5 + [True] * 3


async def test_quotas_and_what_was_used_outlast_a_restart(world: World) -> None:
    meter = await world.meter()
    await meter.set_quota(ACME, Quota(queries_per_month=2))
    ask(meter)
    ask(meter)
    await meter.stop()
    again = await world.meter()
    assert again.used(ACME, Period.MONTH) == UsageCount(2, 14, 0)
    with pytest.raises(QuotaExceeded):
        ask(again)


async def test_an_outage_fails_no_query_and_loses_no_count(world: World) -> None:
    meter = await world.meter()
    world.store.is_away = True
    for _ in range(5):
        ask(meter)
        await meter.flush()
    assert len(world.journal.batches) == 2  # and not one a second
    world.store.is_away = False
    await meter.flush()
    assert (await world.stored(), world.journal.batches) == (5, [])


async def test_a_kill_during_an_outage_loses_nothing_that_was_written_down(world: World) -> None:
    meter = await world.meter()
    world.store.is_away = True
    ask(meter)
    await meter.flush()
    ask(meter)
    await meter.flush()
    world.store.is_away = False
    again = await world.meter()  # the first one is never stopped
    await again.flush()
    assert (await world.stored(), world.journal.batches) == (2, [])


async def test_a_clean_stop_during_an_outage_loses_nothing(world: World) -> None:
    meter = await world.meter()
    world.store.is_away = True
    ask(meter)
    await meter.stop()
    world.store.is_away = False
    await (await world.meter()).stop()
    assert await world.stored() == 1


async def test_a_write_that_broke_off_after_it_was_taken_counts_once(world: World) -> None:
    meter = await world.meter()
    world.store.is_silent = True
    ask(meter)
    await meter.flush()
    ask(meter)
    await meter.flush()
    world.store.is_silent = False
    again = await world.meter()
    await again.flush()
    assert await world.stored() == 2


async def test_while_the_store_is_copied_counts_go_to_the_journal(world: World) -> None:
    meter = await world.meter()
    async with meter.hold():
        ask(meter)
        await meter.flush()
        assert (world.store.calls, len(world.journal.batches)) == (0, 1)
    await meter.flush()
    assert (await world.stored(), world.journal.batches) == (1, [])


async def test_a_tenant_that_goes_takes_its_counts_along(world: World) -> None:
    meter = await world.meter()
    await meter.set_quota(ACME, Quota(queries_per_day=2))
    world.store.is_away = True
    ask(meter)
    await meter.flush()
    ask(meter)
    meter.forget(ACME)
    world.store.is_away = False
    await meter.flush()
    assert await world.stored() == 0
    assert (meter.quota(ACME), meter.used(ACME, Period.DAY)) == (Quota(), UsageCount())


@given(st.dates(min_value=date(1970, 1, 1), max_value=date(9998, 1, 1)), st.sampled_from(Period))
def test_a_period_holds_its_day_and_the_next_begins_where_it_ends(day: date, period: Period) -> None:
    following = period.ends_at(day).date()
    assert period.first_day(day) <= day < following
    assert period.first_day(following) == following
    assert period.ends_at(period.first_day(day)) == period.ends_at(day)


async def test_the_journal_is_read_as_it_was_saved_and_goes_when_empty(tmp_path: Path) -> None:
    journal = FileUsageJournal(tmp_path / "usage.json")
    assert await journal.load() == []
    batches = [UsageBatch("a", (UsageRow(UsageKey(ACME, TODAY, "local", "苹果 \n"), UsageCount(1, 2, 3)),))]
    await journal.save(batches)
    assert await FileUsageJournal(tmp_path / "usage.json").load() == batches
    await journal.save([])
    assert not (tmp_path / "usage.json").exists()
    await journal.save([])


async def test_a_journal_that_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "usage.json").write_text('[{"id": 1')
    assert await FileUsageJournal(tmp_path / "usage.json").load() == []


class Answering:
    """A retriever that finds nothing, for seven tokens; or fails."""

    def __init__(self, error: Exception | None = None) -> None:
        self._error = error

    async def retrieve(self, reader: Reader, query: str, options: RetrieveOptions) -> tuple[Passage, ...]:
        return (await self.retrieve_with_usage(reader, query, options)).passages

    async def retrieve_with_usage(self, reader: Reader, query: str, options: RetrieveOptions) -> RetrievalResult:
        del reader, query, options
        if self._error:
            raise self._error
        return RetrievalResult((), Usage(7, 1))


class Model:
    id = "minilm"


async def test_answered_queries_are_counted_by_mode_and_model(world: World) -> None:
    meter = await world.meter()
    retrieval = MeteredRetrieval(
        {Mode.LOCAL: Answering(), Mode.KEYWORD: Answering(), Mode.PATHS: Answering(ModelFailed("no"))},
        meter=meter,
        models={Mode.LOCAL: Model()},
    )
    reader, options = Reader(ACME), RetrieveOptions()
    for mode in (Mode.LOCAL, Mode.KEYWORD):
        await retrieval.query(reader, "who?", mode, options)
    with pytest.raises(ModelFailed):
        await retrieval.query(reader, "who?", Mode.PATHS, options)
    await meter.set_quota(ACME, Quota(queries_per_day=2))
    with pytest.raises(ModeNotConfigured):
        await retrieval.query(reader, "who?", Mode.GLOBAL, options)
    with pytest.raises(QuotaExceeded):
        await retrieval.query(reader, "who?", Mode.LOCAL, options)
    rows = await meter.rows(ACME, since=TODAY, until=TODAY)
    assert [(row.key.mode, row.key.model, row.count) for row in rows] == [
        ("keyword", "", UsageCount(1, 7, 1)),
        ("local", "minilm", UsageCount(1, 7, 1)),
    ]
