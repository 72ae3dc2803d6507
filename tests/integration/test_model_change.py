"""A change of the embedding model: in the background, resumable, at once for whoever asks, and nothing lost."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import MagicMock

import pytest
import pytest_asyncio

from knotwork.adapters.memory.models import HashEmbedder
from knotwork.adapters.qdrant.edge_folder import EdgeFolder
from knotwork.adapters.qdrant.edge_store import EdgeVectorStore
from knotwork.domain.catalogue import TenantSettings
from knotwork.domain.model import SourceRef, TenantId
from knotwork.domain.retrieval import Mode, Reader, RetrieveOptions
from knotwork.errors import InvalidInput, MaintenanceUnderWay, ModelFailed
from knotwork.ports.vector_store import Collection, View
from knotwork.services import model_change
from knotwork.services.model_change import Alone, ModelChange
from knotwork.services.model_in_use import EmbedderInUse
from support.stack import SentenceExtractor, Stack, Stores, build_stack

pytestmark = pytest.mark.neo4j

TEXTS = {
    "a.md": "Checkout calls Ledger. It does so many times a day, as every order of the shop needs it.",
    "b.md": "Wallet calls Vault. It does so for refunds only, which are few and far between.",
    "c.md": "Beacon calls Skein. It does so every night, when the orders of the day are over.",
}
NEXT = HashEmbedder(version=2)  # of the same dimension: nothing but the change's own care keeps the models apart


@dataclass(frozen=True)
class Changing:
    """A tenant whose vectors are in a store of their own."""

    stack: Stack
    in_use: EmbedderInUse
    following: HashEmbedder

    def change(self, alone: Alone = nullcontext) -> ModelChange:
        return ModelChange(
            catalogue=self.stack.catalogue,
            vectors=self.stack.vectors,
            in_use=self.in_use,
            following=self.following,
            # Of this tenant alone: runs that other tests left to a shared Neo4j need not end.
            hold_all=lambda: self.stack.intake.hold(self.stack.tenant),
            alone=alone,
        )

    async def is_settled(self) -> None:
        """Every point, key and source is as if the next model had been the first."""
        stack = self.stack
        assert await stack.vectors.holds(model=self.following.id, dimension=self.following.dimension)
        points = await stack.points(Collection.CHUNKS)
        sources = await stack.catalogue.sources(stack.tenant, view=View())
        states = await stack.catalogue.states(stack.tenant, [source.ref for source in sources])
        keys = {chunk.id: chunk.embedding_key for state in states.values() for chunk in state.chunks}
        assert {id_: payload["embedding_key"] for id_, payload in points.items()} == keys
        assert (await stack.upkeep.stale(Reader(stack.tenant))).sources == []
        graph = await stack.exported()
        assert set(await stack.points(Collection.ENTITIES)) == {entity.id for entity in graph.entities}
        assert set(await stack.points(Collection.RELATIONSHIPS)) == {one.id for one in graph.relationships}
        for collection in (Collection.ENTITIES, Collection.CHUNKS):
            page, _ = await stack.vectors.scroll(
                stack.tenant, collection, view=View(), after=None, limit=100, with_vectors=True
            )
            for point in page:
                if collection is Collection.CHUNKS:
                    text = str(point.payload["text"])
                    (vector,) = (await self.following.embed([text])).vectors
                    assert point.vector == pytest.approx(vector, abs=1e-6)


@asynccontextmanager
async def opened(stores: Stores, folder: Path, tenant: TenantId, model: HashEmbedder) -> AsyncGenerator[Changing]:
    vectors = EdgeVectorStore(folder)
    await vectors.open()
    await vectors.prepare(model=model.id, dimension=model.dimension)
    in_use = EmbedderInUse(model)
    stack = build_stack(Stores(stores.session, vectors), tenant, SentenceExtractor(), in_use=in_use)
    await stack.catalogue.put_tenant(tenant, TenantSettings())
    await stack.intake.start()
    try:
        yield Changing(stack, in_use, HashEmbedder(version=2))
    finally:
        await stack.intake.stop()
        await vectors.close()


@pytest_asyncio.fixture
async def changing(stores: Stores, tmp_path: Path) -> AsyncGenerator[Changing]:
    async with opened(stores, tmp_path, TenantId(f"change-{tmp_path.name}"), HashEmbedder()) as changing:
        for id_, text in TEXTS.items():
            await changing.stack.put(id_, text)
        yield changing


async def test_after_a_change_everything_is_as_if_the_model_had_been_the_first(changing: Changing) -> None:
    before = await changing.stack.exported()
    await changing.change().run()
    await changing.is_settled()
    assert await changing.stack.exported() == before

    texts = changing.following.texts
    result = await changing.stack.put("a.md", TEXTS["a.md"])  # unchanged: nothing to embed, nothing to extract
    assert (result.written, result.graph.extraction_calls) == (0, 0)
    assert changing.following.texts == texts
    assert (await changing.stack.put("d.md", "Harbor calls Gateway.")).model == changing.following.id
    assert (await changing.stack.found("Harbor calls Gateway", Mode.SEMANTIC))[0] == "d.md"


async def test_what_is_put_edited_and_deleted_meanwhile_is_in_the_new_collections(changing: Changing) -> None:
    stack, following = changing.stack, changing.following
    following.faults.hanging.add(TEXTS["b.md"])  # the model is slow
    running = asyncio.create_task(changing.change().run())
    while not following.texts:  # noqa: ASYNC110 - a fake model tells nobody that it was asked
        await asyncio.sleep(0.01)
    await stack.put("a.md", TEXTS["a.md"] + "\n\nCheckout calls Vault.")
    await stack.delete("c.md")
    await stack.put("d.md", "Harbor calls Gateway.", subjects=["user:ana"])
    assert await stack.found(TEXTS["b.md"], Mode.SEMANTIC)  # the present model answers
    assert not running.done()

    running.cancel()  # the service is stopped, and started again
    await asyncio.wait({running})
    following.faults.hanging.clear()
    await changing.change().run()
    await changing.is_settled()
    assert sorted({str(one["source_id"]) for one in (await stack.points(Collection.CHUNKS)).values()}) == [
        "a.md",
        "b.md",
        "d.md",
    ]


async def test_a_change_goes_on_where_it_was_in_another_process(
    stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_change, "PAGE", 2)
    tenant = TenantId(f"change-{tmp_path.name}")
    async with opened(stores, tmp_path, tenant, HashEmbedder()) as first:
        for id_, text in TEXTS.items():
            await first.stack.put(id_, text)
        first.following.faults.hanging.add("beacon")  # the name of an entity: chunks are through by then
        running = asyncio.create_task(first.change().run())
        while first.following.texts <= len(TEXTS):  # noqa: ASYNC110 - a fake model tells nobody that it was asked
            await asyncio.sleep(0.01)
        running.cancel()
        await asyncio.wait({running})
    async with opened(stores, tmp_path, tenant, HashEmbedder()) as second:
        await second.change().run()
        graph = await second.stack.exported()
        assert second.following.texts <= len(graph.entities) + len(graph.relationships)  # no chunk again
        await second.is_settled()
    async with opened(stores, tmp_path, tenant, HashEmbedder(version=2)) as third:
        await third.change().run()  # as after a restart: nothing is left to do
        assert third.following.texts == 0
        await third.is_settled()


async def test_no_question_meets_vectors_of_another_model(changing: Changing) -> None:
    stack, over = changing.stack, asyncio.Event()
    reader, options = Reader(stack.tenant), RetrieveOptions(top_k=1)
    asked = 0

    async def ask() -> None:
        nonlocal asked
        while not over.is_set():
            for id_, text in TEXTS.items():
                (passage,) = (await stack.retrieval.query(reader, text, Mode.SEMANTIC, options)).passages
                assert passage.source == SourceRef("document", id_)
                assert passage.score > 0.99  # a vector of the other model is near to none
                asked += 1

    asking = [asyncio.create_task(ask()) for _ in range(4)]
    await asyncio.sleep(0.2)
    await changing.change().run()
    await asyncio.sleep(0.2)
    over.set()
    await asyncio.gather(*asking)
    assert asked > 20


async def test_a_model_that_fails_is_asked_again_and_the_present_one_answers_until_then(
    changing: Changing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_change, "RETRY_S", 0.05)
    changing.following.faults.fail(TEXTS["a.md"], ModelFailed("the endpoint is away"))
    running = asyncio.create_task(changing.change().run())
    await asyncio.sleep(0.5)
    assert not running.done()
    assert (await changing.stack.found(TEXTS["a.md"], Mode.SEMANTIC))[0] == "a.md"
    changing.following.faults.failing.clear()
    await asyncio.wait_for(running, 30)
    await changing.is_settled()


@pytest.mark.parametrize("operation", ["_create", "promote"])  # where a successor begins, and where it takes over
async def test_a_disk_that_is_full_is_waited_for_and_told(
    changing: Changing, monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    monkeypatch.setattr(model_change, "RETRY_S", 0.05)
    owner = EdgeVectorStore if operation == "_create" else EdgeFolder
    with monkeypatch.context() as full:
        full.setattr(owner, operation, MagicMock(side_effect=OSError(errno.ENOSPC, "no space left")))
        change = changing.change()
        running = asyncio.create_task(change.run())
        async with asyncio.timeout(30):
            while change.trouble is None:  # noqa: ASYNC110  it sets no event
                await asyncio.sleep(0.01)
        assert "no space left" in change.trouble
        assert (await changing.stack.found(TEXTS["a.md"], Mode.SEMANTIC))[0] == "a.md"
        assert not running.done()
    await asyncio.wait_for(running, 30)
    assert change.trouble is None
    await changing.is_settled()


async def test_a_switch_that_somebody_else_made_is_followed(changing: Changing) -> None:
    vectors, following = changing.stack.vectors, changing.following
    await vectors.successor(model=following.id, dimension=following.dimension)
    await vectors.promote()
    await changing.change().run()
    assert changing.in_use.id == following.id


async def test_what_trying_again_cannot_mend_stops_a_change_and_is_told(changing: Changing) -> None:
    changing.following.faults.fail(TEXTS["a.md"], InvalidInput("no such model"))
    change = changing.change()
    await asyncio.wait_for(change.run(), 30)
    assert change.trouble == "no such model"
    assert (await changing.stack.found(TEXTS["a.md"], Mode.SEMANTIC))[0] == "a.md"


def files_with(folder: Path, words: Sequence[str]) -> list[str]:
    """Files that hold one of the words."""
    files = {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return [path for path, content in files.items() if any(word.encode() in content for word in words)]


async def test_what_was_deleted_leaves_the_files_of_a_change_under_way(changing: Changing, tmp_path: Path) -> None:
    """Compacting removes it: the text of a source that went, and metadata that were taken from one that stayed."""
    stack, words = changing.stack, ["Xanthoproteinuria", "Zygomaticotemporal"]
    is_filled, may_end = asyncio.Event(), asyncio.Event()

    @contextmanager
    def alone() -> Generator[None]:
        is_filled.set()
        if not may_end.is_set():
            raise MaintenanceUnderWay("compact")
        yield

    await stack.put("gone.md", f"{words[0]} is rare.")
    await stack.put("a.md", TEXTS["a.md"], metadata={"case": words[1]})
    change = changing.change(alone)
    running = asyncio.create_task(change.run())
    await is_filled.wait()
    await stack.delete("gone.md")
    await stack.put("a.md", TEXTS["a.md"])
    async with change.hold():
        await stack.vectors.compact()
        assert files_with(tmp_path, words) == []
    may_end.set()
    await asyncio.wait_for(running, 30)
    await changing.is_settled()
