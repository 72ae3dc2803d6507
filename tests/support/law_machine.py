"""The law of the graph as a machine: whatever two tenants go through, a fresh index of what they hold is the same.

Steps change documents, readers, metadata, flags, switches and models, make extraction fail, and kill the service: in
this process (`Mortal`) or as a process of its own (SIGKILL). At the end of each history the export of each tenant is
that of a fresh index, byte by byte, and `verify` is clean; on the way no chunk is read again that was read and stayed.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import shutil
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar, cast

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from knotwork.adapters.neo4j.embedded import Neo4jAddress
from knotwork.domain.catalogue import SourceChange, TenantSettings
from knotwork.domain.model import SourceRef, TenantId
from knotwork.domain.retrieval import Reader
from support.law import (
    METADATA,
    NAMES,
    PARAGRAPHS,
    SUBJECTS,
    TITLES,
    Document,
    Holding,
    Key,
    Mortal,
    PerTenant,
    Service,
    build_service,
)
from support.law_process import Errand, Processes
from support.stack import MODELS, Stores, open_stores

T = TypeVar("T")
When = Literal["before", "during", "after"]

STEPS = 12
SETTLE_S = 180.0  # a history whose runs take longer hangs, on a busy machine too
HASH_SEED = 4711  # of the processes; that of the test differs from run to run, or is set by its caller

LAW = settings(
    deadline=None,
    database=None,
    report_multiple_bugs=False,
    stateful_step_count=STEPS,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


@dataclass(slots=True)
class World:
    """What histories share: one Neo4j, processes to fork from, an event loop, and counts of what was done."""

    address: Neo4jAddress
    folder: Path
    processes: Processes
    done: Counter[str] = field(default_factory=Counter[str])
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    def close(self) -> None:
        self.processes.close()
        self.loop.close()


Change = Callable[["Law", int], Coroutine[Any, Any, None]]

WHO = st.sampled_from((0, 1))
PLACE = st.integers(0, 7)
PARAGRAPH = st.integers(0, len(PARAGRAPHS) - 1)
DOCUMENTS = st.builds(
    Document,
    st.one_of(st.lists(PARAGRAPH, min_size=3, max_size=6), st.lists(PARAGRAPH, max_size=2)).map(tuple),
    st.sampled_from(TITLES),
    st.sampled_from(SUBJECTS),
    st.sampled_from(METADATA),
    st.sampled_from((None, None, None, None, None, True, False)),
)
SOURCE_CHANGES = st.one_of(
    st.builds(SourceChange, auth_subjects=st.sampled_from(SUBJECTS)),
    st.builds(SourceChange, metadata=st.sampled_from(METADATA)),
    st.builds(SourceChange, graph=st.booleans()),
    st.just(SourceChange(clear_graph=True)),
)


@dataclass(frozen=True, slots=True)
class Put:
    """A document under a name, whatever was there."""

    name: str
    document: Document

    async def ask(self, law: Law, who: int) -> None:
        law.holdings[who].documents[self.name] = self.document
        await law.service.put(law.tenants[who], self.name, self.document)


@dataclass(frozen=True, slots=True)
class Edit:
    """One paragraph of some document inserted, replaced, moved to the end or taken out."""

    which: int
    how: Literal["insert", "replace", "reorder", "remove"]
    place: int
    paragraph: int

    async def ask(self, law: Law, who: int) -> None:
        name = law.name_of(who, self.which)
        if name is None:
            return
        document = law.holdings[who].documents[name]
        paragraphs = list(document.paragraphs)
        place = self.place % (len(paragraphs) + 1)
        taken = paragraphs[place : place + 1]
        if self.how != "insert":
            del paragraphs[place : place + 1]
        if self.how in {"insert", "replace"}:
            paragraphs.insert(place, self.paragraph)
        elif self.how == "reorder":
            paragraphs += taken
        await Put(name, replace(document, paragraphs=tuple(paragraphs))).ask(law, who)


@dataclass(frozen=True, slots=True)
class Update:
    """Other readers, metadata or graph flag of some document."""

    which: int
    change: SourceChange

    async def ask(self, law: Law, who: int) -> None:
        name = law.name_of(who, self.which)
        if name is None:
            return
        document, change = law.holdings[who].documents[name], self.change
        law.holdings[who].documents[name] = replace(
            document,
            subjects=document.subjects if change.auth_subjects is None else change.auth_subjects,
            metadata=document.metadata if change.metadata is None else change.metadata,
            graph=None if change.clear_graph else document.graph if change.graph is None else change.graph,
        )
        await law.service.stack.intake.update(law.tenants[who], SourceRef("document", name), change)


@dataclass(frozen=True, slots=True)
class Delete:
    """Some document goes."""

    which: int

    async def ask(self, law: Law, who: int) -> None:
        name = law.name_of(who, self.which)
        if name is not None:
            del law.holdings[who].documents[name]
            await law.service.stack.intake.delete(law.tenants[who], SourceRef("document", name))


PUTS = st.builds(Put, st.sampled_from(NAMES), DOCUMENTS)
EDITS = st.builds(Edit, PLACE, st.sampled_from(("insert", "replace", "reorder", "remove")), PLACE, PARAGRAPH)
UPDATES = st.builds(Update, PLACE, SOURCE_CHANGES)
REQUESTS = st.one_of(PUTS, EDITS, UPDATES, st.builds(Delete, PLACE))
SEVERAL = st.lists(st.tuples(WHO, REQUESTS), min_size=1, max_size=4)


@asynccontextmanager
async def _in_time() -> AsyncGenerator[None]:
    """Fail when the block hangs, and show where everything stands."""
    limit = asyncio.timeout(SETTLE_S)
    try:
        async with limit:
            yield
    except TimeoutError:
        if not limit.expired():
            raise
        waits = "\n\n".join("\n".join(_stack(task)) for task in asyncio.all_tasks())
        raise AssertionError(f"not over after {SETTLE_S:.0f} s:\n{waits}") from None


def _stack(task: asyncio.Task[Any]) -> list[str]:
    """Where a task waits, down to what it waits for; its own `print_stack` ends at the first call."""
    lines, at = [f"{task.get_name()}:"], cast("Any", task.get_coro())
    while at is not None:
        frame = getattr(at, "cr_frame", None) or getattr(at, "ag_frame", None)
        lines.append(f"  {frame.f_code.co_qualname}:{frame.f_lineno}" if frame else f"  {at!r}")
        at = getattr(at, "cr_await", None) or getattr(at, "ag_await", None)
    return lines


class Law(RuleBasedStateMachine):
    """One history of two tenants; `world` is set by whoever runs it."""

    world: ClassVar[World]
    numbers: ClassVar[itertools.count[int]] = itertools.count(1)

    def __init__(self) -> None:
        super().__init__()
        self.number = next(Law.numbers)
        self.folder = self.world.folder / f"history-{self.number}"
        self.tenants = [TenantId(f"law-{os.getpid()}-{self.number}-{letter}") for letter in "ab"]
        self.holdings = [Holding(TenantSettings(graph=True, extraction_model=f"{letter}1")) for letter in "ab"]
        self.calls: list[Key] = []  # of extractors, since all was settled
        self.kept: list[dict[str, frozenset[Key]]] = [{}, {}]  # read before that, and wanted ever since
        self.extractors = PerTenant(self.calls.append)
        self.mortal = Mortal()
        self.sound = True  # no step has failed, so that the end is worth a look

    # Plumbing

    def do(self, work: Coroutine[Any, Any, None]) -> None:
        """One step; after it, what is kept is what this step, too, has left as it was."""
        self.world.done["steps"] += 1
        try:
            self.world.run(work)
            self._narrow()
        except BaseException:
            self.sound = False
            raise

    def name_of(self, who: int, which: int) -> str | None:
        names = sorted(self.holdings[who].documents)
        return names[which % len(names)] if names else None

    async def open(self) -> None:
        self.opened = AsyncExitStack()
        self.stores: Stores = await self.opened.enter_async_context(open_stores(self.world.address, self.folder))
        self.service = await self._start()

    async def _start(self) -> Service:
        self.mortal = Mortal()
        service = build_service(self.stores, self.tenants, self.extractors, wrap=self.mortal.port)
        await service.start()
        return service

    async def ask(self, requests: Sequence[tuple[int, Any]]) -> None:
        for who, request in requests:
            await request.ask(self, who)
            self._narrow()

    async def settled(self) -> None:
        """All requests are done; nothing was read on the way that had been read and was wanted all the time."""
        async with _in_time():
            await self.service.settle()
        for who in (0, 1):
            again = set(self.calls) & frozenset().union(*self.kept[who].values())
            assert not again, f"read again: {again}"
        self.world.done["extractions"] += len(self.calls)
        self.calls.clear()
        for who, holding in enumerate(self.holdings):
            self.kept[who] = {
                name: frozenset(key for key in holding.keys(name) if key[2] not in self.extractors.failing)
                for name in holding.documents
            }

    async def _unless_dead(self, *works: Coroutine[Any, Any, None]) -> None:
        """Do this at the same time, or until the service is dead; then none of it goes on."""
        tasks = [asyncio.create_task(work) for work in works]
        died: asyncio.Task[Any] = asyncio.create_task(self.mortal.dead.wait())
        waiting: set[asyncio.Task[Any]] = set(tasks)
        try:
            async with _in_time():
                while waiting and not self.mortal.dead.is_set():
                    await asyncio.wait({*waiting, died}, return_when=asyncio.FIRST_COMPLETED)
                    waiting = {task for task in waiting if not task.done()}
        finally:
            for task in (*tasks, died):
                task.cancel()
            ends = await asyncio.gather(*tasks, died, return_exceptions=True)
        if not self.mortal.dead.is_set():
            for end in ends[: len(tasks)]:
                if end is not None:
                    raise end

    def _narrow(self) -> None:
        for who, holding in enumerate(self.holdings):
            self.kept[who] = {name: keys & holding.keys(name) for name, keys in self.kept[who].items()}

    # Steps

    @initialize(first=st.lists(DOCUMENTS, min_size=2, max_size=4))
    def begin(self, first: list[Document]) -> None:
        """Both tenants begin with the same documents, so that there is something to change."""

        async def work() -> None:
            await self.open()
            for tenant, holding in zip(self.tenants, self.holdings, strict=True):
                await self.service.settings.put(tenant, holding.settings)
            for who in (0, 1):
                await self.ask([(who, Put(name, document)) for name, document in zip(NAMES, first, strict=False)])

        self.do(work())

    @rule(who=WHO, request=PUTS)
    def put(self, who: int, request: Put) -> None:
        self.do(self.ask([(who, request)]))

    @rule(who=WHO, request=EDITS)
    def edit(self, who: int, request: Edit) -> None:
        self.do(self.ask([(who, request)]))

    @rule(who=WHO, request=UPDATES)
    def update(self, who: int, request: Update) -> None:
        self.do(self.ask([(who, request)]))

    @rule(requests=SEVERAL)
    def several(self, requests: Sequence[tuple[int, Any]]) -> None:
        async def work() -> None:
            await self.ask(requests)
            await self.settled()

        self.do(work())

    @precondition(lambda self: any(holding.documents for holding in self.holdings))
    @rule(who=WHO, which=PLACE)
    def repeat(self, who: int, which: int) -> None:
        """The same again costs no call of a model."""

        async def work() -> None:
            name = self.name_of(who, which)
            if name is None:
                return
            await self.settled()
            embedded = self.service.embedder_calls
            await Put(name, self.holdings[who].documents[name]).ask(self, who)
            await self.settled()
            assert self.service.embedder_calls == embedded

        self.do(work())

    @precondition(lambda self: any(holding.documents for holding in self.holdings))
    @rule(who=WHO, which=PLACE, name=st.sampled_from(NAMES))
    def move(self, who: int, which: int, name: str) -> None:
        """A document under another name is not read again, unless it comes to be read only by the way."""

        async def work() -> None:
            before = self.name_of(who, which)
            if before is None or name in self.holdings[who].documents:
                return
            await self.settled()
            await Put(name, self.holdings[who].documents[before]).ask(self, who)
            await self.settled()
            del self.holdings[who].documents[before]
            await self.service.stack.intake.delete(self.tenants[who], SourceRef("document", before))

        self.do(work())

    @rule(who=WHO, graph=st.sampled_from((True, True, True, True, True, False, None)), model=st.sampled_from((1, 2)))
    def switch(self, who: int, graph: bool | None, model: int) -> None:
        """The tenant's switch, or its extractor."""

        async def work() -> None:
            self.holdings[who].settings = TenantSettings(graph, f"{'ab'[who]}{model}")
            self._narrow()
            await self.service.settings.put(self.tenants[who], self.holdings[who].settings)

        self.do(work())

    @rule(places=st.sets(PARAGRAPH, min_size=1, max_size=4))
    def fail(self, places: set[int]) -> None:
        """From now on the extractors fail at some texts."""
        self.world.done["failing texts"] += len(places)

        async def work() -> None:
            self.extractors.failing |= {PARAGRAPHS[place] for place in places}

        self.do(work())

    @precondition(lambda self: bool(self.extractors.failing))
    @rule()
    def retry(self) -> None:
        self.do(self.retried())

    async def retried(self) -> None:
        """Extractors work again, and what had failed is read."""
        await self.settled()
        self.extractors.failing.clear()
        for tenant in self.tenants:
            await self.service.stack.upkeep.retry_failures(Reader(tenant))
        await self.settled()

    @rule(requests=SEVERAL, calls=st.integers(1, 20), when=st.sampled_from(("before", "after")))
    def stop_dead(self, requests: Sequence[tuple[int, Any]], calls: int, when: Literal["before", "after"]) -> None:
        """The service of this process ends in the middle of its work, and another begins over the same stores."""

        async def work() -> None:
            mortal = self.mortal
            await self.ask(requests)
            mortal.arm(calls, when)
            await self._unless_dead(self.service.settle())
            self.world.done["stopped dead"] += mortal.dead.is_set()
            await self.service.stack.intake.stop()
            self.service = await self._start()

        self.do(work())

    @rule(requests=SEVERAL, model=st.sampled_from(MODELS), calls=st.integers(1, 60), is_mortal=st.booleans())
    def embed_anew(self, requests: Sequence[tuple[int, Any]], model: int, calls: int, *, is_mortal: bool) -> None:
        """The embedding model changes while requests are carried out; the service may end on the way."""

        async def work() -> None:
            mortal = self.mortal
            await self.ask(requests)
            if is_mortal:
                mortal.arm(calls, "after")
            await self._unless_dead(self.service.change_to(model).run(), self.service.settle())
            mortal.arm(0, "after")  # or it would die at a later step
            if mortal.dead.is_set():
                self.world.done["models half changed"] += 1
                await self.service.stack.intake.stop()
                await self.opened.aclose()
                await self.open()  # with the model whose vectors are stored
                if self.stores.model == model:  # the switch is made: the rest follows, as when the platform starts
                    await self.service.change_to(model).run()
            else:
                self.stores = replace(self.stores, model=model)  # what the next start finds
                self.world.done["models changed"] += 1

        self.do(work())

    @rule(requests=SEVERAL, calls=st.integers(1, 30), when=st.sampled_from(("before", "during", "after")))
    def kill(self, requests: Sequence[tuple[int, Any]], calls: int, when: When) -> None:
        """A process takes up what is accepted, and is killed at one of its calls of a store."""

        async def work() -> None:
            intake = self.service.stack.intake
            for tenant in self.tenants:
                await intake.pause(tenant, paused=True)
            await self.ask(requests)
            await intake.stop()
            await self.opened.aclose()
            calls_file = self.folder / "calls"
            (outcome,) = self.world.processes.run(
                replace(
                    self._errand(self.tenants, calls_file),
                    die_at=calls,
                    when=when,
                    failing=sorted(self.extractors.failing),
                )
            )
            self.world.done["killed"] += outcome.killed
            self.calls += [tuple(json.loads(line)) for line in calls_file.read_text(encoding="utf-8").splitlines()]
            calls_file.unlink()
            await self.open()
            for tenant in self.tenants:  # where it died before it came to that
                await self.service.stack.intake.pause(tenant, paused=False)

        self.do(work())

    def _errand(self, tenants: Sequence[str], out_file: Path, folder: Path | None = None) -> Errand:
        address = self.world.address
        return Errand(
            address.bolt_uri, address.user, address.password, str(folder or self.folder), tenants, str(out_file)
        )

    # The end

    def teardown(self) -> None:
        try:
            if self.sound and hasattr(self, "service"):
                self.world.run(self._compare())
                self.world.done["histories"] += 1
        finally:
            self.world.run(self._forget())

    async def _compare(self) -> None:
        await self.retried()
        exports = [await self.service.export(tenant) for tenant in self.tenants]
        for who, expected in enumerate(self._fresh()):
            assert exports[who].splitlines() == expected.splitlines(), f"tenant {who} is not what a fresh index gives"
        for tenant in self.tenants:
            report = await self.service.verifier.verify(tenant)
            assert report.is_clean, report
            assert await self.service.stack.ledger.unfinished() == []

    def _fresh(self) -> list[bytes]:
        """What a fresh index of what is held exports: in a process with another hash seed, in another order."""
        out_file = self.folder / "fresh"
        self.world.processes.run(
            replace(
                self._errand([f"{tenant}-fresh" for tenant in self.tenants], out_file, self.folder / "afresh"),
                holdings=[asdict(holding) for holding in self.holdings],
                seed=self.number,
                model=MODELS[self.number % len(MODELS)],
                concurrency=1 + self.number % 3,
            )
        )
        lines = out_file.read_text(encoding="utf-8").splitlines()
        return [json.loads(line).encode("utf-8", "surrogatepass") for line in lines]

    async def _forget(self) -> None:
        if hasattr(self, "service"):
            await self.service.stack.intake.stop()
            for tenant in self.tenants:
                await self.service.stack.catalogue.delete_tenant(tenant)
            await self.opened.aclose()
        shutil.rmtree(self.folder, ignore_errors=True)
