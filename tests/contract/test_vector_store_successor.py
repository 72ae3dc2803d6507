"""A vector store's successor: filled beside it, seen by nobody, then in its place at once."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, cast

import pytest
import pytest_asyncio
from qdrant_client import AsyncQdrantClient

from knotwork.adapters.qdrant.edge_store import EdgeVectorStore
from knotwork.adapters.qdrant.server_store import ServerVectorStore
from knotwork.domain.model import EVERYONE, TenantId
from knotwork.errors import DimensionMismatch, SetupFailed, StoreUnavailable
from knotwork.ports.vector_store import Collection, Point, VectorStore, View

ACME, BETA = TenantId("acme"), TenantId("beta")
CHUNKS, ENTITIES = Collection.CHUNKS, Collection.ENTITIES
ALL = View()
OLD, NEW = "old-model@1", "new-model@1"

pytestmark = [
    pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant"),
    pytest.mark.filterwarnings("ignore:Local mode performs exact"),
]


def point(id_: str, *vector: float) -> Point:
    return Point(id_, vector, {"subjects": [EVERYONE], "text": id_}, id_)


def entity(id_: str, *vector: float) -> Point:
    return Point(id_, vector, {"subjects": [EVERYONE]})


async def edge(folder: Path, model: str = OLD, dimension: int = 2) -> EdgeVectorStore:
    store = EdgeVectorStore(folder)
    await store.open()
    await store.prepare(model=model, dimension=dimension)
    return store


def shards(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.is_dir()]


@pytest_asyncio.fixture(params=["edge", "server in local mode"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[VectorStore]:
    if request.param == "edge":
        made: VectorStore = await edge(tmp_path)
    else:
        made = ServerVectorStore(AsyncQdrantClient(":memory:"))
        await made.prepare(model=OLD, dimension=2)
    await made.upsert(ACME, CHUNKS, [point("a", 1, 0), point("b", 0, 1)])
    await made.upsert(ACME, ENTITIES, [entity("e", 1, 0)])
    yield made
    await made.close()


async def test_a_successor_is_seen_by_no_search_until_it_is_promoted(store: VectorStore) -> None:
    successor = await store.successor(model=NEW, dimension=3)
    await successor.upsert(ACME, CHUNKS, [point("a", 0, 0, 1)])
    assert await store.count(ACME, CHUNKS, view=ALL) == 2
    assert [hit.id for hit in await store.search_dense(ACME, CHUNKS, [1, 0], view=ALL, limit=1)] == ["a"]
    assert await store.holds(model=OLD, dimension=2)
    assert not await store.holds(model=NEW, dimension=3)

    await store.promote()
    assert await store.holds(model=NEW, dimension=3)
    assert not await store.holds(model=OLD, dimension=2)
    assert [hit.score for hit in await store.search_dense(ACME, CHUNKS, [0, 0, 1], view=ALL, limit=5)] == [1.0]
    assert [hit.id for hit in await store.search_keyword(ACME, "a", view=ALL, limit=5)] == ["a"]
    assert await store.count(ACME, ENTITIES, view=ALL) == 0
    with pytest.raises(DimensionMismatch, match=r"3 dimensions.* 2"):
        await store.search_dense(ACME, CHUNKS, [1, 0], view=ALL, limit=1)


async def test_a_store_of_a_model_has_no_successor_of_that_model_which_would_take_its_files(store: VectorStore) -> None:
    with pytest.raises(SetupFailed, match="already"):
        await store.successor(model=OLD, dimension=2)
    await store.successor(model=NEW, dimension=3)
    await store.promote()
    await store.upsert(ACME, CHUNKS, [point("c", 0, 1, 0)])
    with pytest.raises(SetupFailed, match="already"):
        await store.successor(model=NEW, dimension=3)
    assert await store.count(ACME, CHUNKS, view=ALL) == 1


def failing_once(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, error: Exception) -> None:
    """The next call of this method fails, those after it do not."""
    method = getattr(owner, name)

    def fail(*_: object, **__: object) -> None:
        monkeypatch.setattr(owner, name, method)
        raise error

    monkeypatch.setattr(owner, name, fail)


async def test_a_promotion_that_fails_can_be_tried_again(store: VectorStore, monkeypatch: pytest.MonkeyPatch) -> None:
    successor = await store.successor(model=NEW, dimension=3)
    await successor.upsert(ACME, CHUNKS, [point("a", 0, 0, 1)])
    if isinstance(store, EdgeVectorStore):
        failing_once(monkeypatch, store._folder, "_write", OSError(errno.ENOSPC, "full"))
    else:
        failing_once(monkeypatch, cast("Any", store)._client, "update_collection_aliases", OSError("away"))
    with pytest.raises(OSError, match=r"full|away"):
        await store.promote()
    assert await store.holds(model=OLD, dimension=2)
    assert await store.count(ACME, CHUNKS, view=ALL) == 2
    assert await store.successor(model=NEW, dimension=3) is successor
    await store.promote()
    assert await store.holds(model=NEW, dimension=3)
    assert await store.count(ACME, CHUNKS, view=ALL) == 1


async def test_a_promotion_of_which_only_the_answer_is_lost_is_done(
    store: VectorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    successor = await store.successor(model=NEW, dimension=3)
    await successor.upsert(ACME, CHUNKS, [point("a", 0, 0, 1)])
    if isinstance(store, EdgeVectorStore):
        write = store._folder._write

        def written_and_failed(stored: Any) -> None:
            write(stored)
            raise OSError(errno.EIO, "the folder was not synced")

        monkeypatch.setattr(store._folder, "_write", written_and_failed)
    else:
        client: Any = cast("Any", store)._client
        update = client.update_collection_aliases

        async def done_and_lost(operations: Any) -> None:
            await update(operations)
            raise StoreUnavailable("Qdrant", "no answer")

        monkeypatch.setattr(client, "update_collection_aliases", done_and_lost)
    await store.promote()
    assert await store.holds(model=NEW, dimension=3)
    assert [hit.score for hit in await store.search_dense(ACME, CHUNKS, [0, 0, 1], view=ALL, limit=5)] == [1.0]


async def test_a_promotion_is_done_though_the_former_points_cannot_be_removed(
    store: VectorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    successor = await store.successor(model=NEW, dimension=3)
    await successor.upsert(ACME, CHUNKS, [point("a", 0, 0, 1)])
    if isinstance(store, EdgeVectorStore):
        failing_once(monkeypatch, store._folder, "remove_unnamed", OSError(errno.EIO, "a bad disk"))
    else:
        failing_once(monkeypatch, cast("Any", store)._client, "delete_collection", StoreUnavailable("Qdrant", "away"))
    await store.promote()
    assert [hit.score for hit in await store.search_dense(ACME, CHUNKS, [0, 0, 1], view=ALL, limit=5)] == [1.0]
    await store.successor(model="third@1", dimension=2)
    await store.promote()
    assert await store.count(ACME, CHUNKS, view=ALL) == 0


async def test_a_successor_that_could_not_be_begun_can_be_tried_again(
    store: VectorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    create, left = cast("Any", type(store))._create, 2

    def second_fails(self: VectorStore, *arguments: object) -> object:
        nonlocal left
        left -= 1
        if left == 0:
            raise OSError(errno.ENOSPC, "full")
        return create(self, *arguments)

    monkeypatch.setattr(type(store), "_create", second_fails)
    with pytest.raises(OSError, match="full"):
        await store.successor(model=NEW, dimension=3)
    successor = await store.successor(model=NEW, dimension=3)
    await successor.upsert(ACME, CHUNKS, [point("a", 0, 0, 1)])
    await store.promote()
    assert await store.count(ACME, CHUNKS, view=ALL) == 1


async def test_a_promoted_store_takes_writes_and_another_successor(store: VectorStore) -> None:
    await store.successor(model=NEW, dimension=3)
    await store.promote()
    await store.upsert(ACME, CHUNKS, [point("c", 0, 1, 0)])
    third = await store.successor(model="third@1", dimension=2)
    await third.upsert(ACME, CHUNKS, [point("c", 1, 0)])
    await store.promote()
    assert await store.holds(model="third@1", dimension=2)
    assert await store.count(ACME, CHUNKS, view=ALL) == 1


async def test_what_is_deleted_goes_from_the_successor_too(store: VectorStore) -> None:
    successor = await store.successor(model=NEW, dimension=3)
    await successor.upsert(ACME, CHUNKS, [point("a", 0, 0, 1), point("b", 0, 1, 0)])
    await successor.upsert(BETA, ENTITIES, [entity("e", 0, 0, 1)])
    await store.delete(ACME, CHUNKS, ["a"])
    await store.drop_tenant(BETA)
    assert await successor.count(ACME, CHUNKS, view=ALL) == 1
    assert await successor.count(BETA, ENTITIES, view=ALL) == 0


async def test_a_successor_that_is_dropped_leaves_nothing_to_promote(store: VectorStore) -> None:
    successor = await store.successor(model=NEW, dimension=3)
    await successor.upsert(ACME, CHUNKS, [point("a", 0, 0, 1)])
    await store.drop_successor()
    await store.drop_successor()
    with pytest.raises(SetupFailed, match="successor"):
        await store.promote()
    assert await store.count(ACME, CHUNKS, view=ALL) == 2
    again = await store.successor(model=NEW, dimension=3)
    assert await again.count(ACME, CHUNKS, view=ALL) == 0


async def test_a_successor_of_the_same_dimension_is_another_one(store: VectorStore) -> None:
    successor = await store.successor(model=NEW, dimension=2)
    await successor.upsert(ACME, CHUNKS, [point("a", 0, 1)])
    assert [hit.score for hit in await store.search_dense(ACME, CHUNKS, [1, 0], view=ALL, limit=1)] == [1.0]


async def test_edge_goes_on_filling_after_opening_again(tmp_path: Path) -> None:
    store = await edge(tmp_path)
    successor = await store.successor(model=NEW, dimension=3)
    await successor.upsert(ACME, CHUNKS, [point("a", 0, 0, 1)])
    await store.close()

    store = await edge(tmp_path)
    assert await (await store.successor(model=NEW, dimension=3)).count(ACME, CHUNKS, view=ALL) == 1
    await store.promote()
    await store.close()
    assert sorted(name.partition("__")[0] for name in shards(tmp_path)) == sorted(Collection)

    store = EdgeVectorStore(tmp_path)
    await store.open()
    with pytest.raises(DimensionMismatch, match=r"3 dimensions.* 2"):
        await store.prepare(model=OLD, dimension=2)
    await store.close()


async def test_edge_begins_anew_when_another_model_is_to_follow(tmp_path: Path) -> None:
    store = await edge(tmp_path)
    await (await store.successor(model=NEW, dimension=3)).upsert(ACME, CHUNKS, [point("a", 0, 0, 1)])
    await store.close()
    store = await edge(tmp_path)
    assert await (await store.successor(model="third@1", dimension=4)).count(ACME, CHUNKS, view=ALL) == 0
    await store.close()
    assert not [name for name in shards(tmp_path) if "new-model" in name]


def files_with(folder: Path, word: str) -> list[str]:
    return [str(path) for path in folder.rglob("*") if path.is_file() and word.encode() in path.read_bytes()]


async def test_edge_compacts_what_is_being_filled_too(tmp_path: Path) -> None:
    word = "Xanthoproteinuria"
    store = await edge(tmp_path)
    successor = await store.successor(model=NEW, dimension=3)
    await store.upsert(ACME, CHUNKS, [point("a", 1, 0), point(word, 0, 1)])
    await successor.upsert(ACME, CHUNKS, [point("a", 0, 0, 1), point(word, 0, 1, 0)])
    await successor.upsert(ACME, ENTITIES, [entity("e", 0, 0, 1)])
    await store.delete(ACME, CHUNKS, [word])
    await store.flush()
    await successor.flush()
    assert [name for name in files_with(tmp_path, word) if "new-model" in name], "else this proves nothing"

    await store.compact()
    assert files_with(tmp_path, word) == []
    assert [hit.id for hit in await successor.search_keyword(ACME, "a", view=ALL, limit=5)] == ["a"]
    await successor.upsert(ACME, CHUNKS, [point("b", 0, 1, 0)])
    await store.close()

    store = await edge(tmp_path)
    successor = await store.successor(model=NEW, dimension=3)
    assert (await successor.count(ACME, CHUNKS, view=ALL), await successor.count(ACME, ENTITIES, view=ALL)) == (2, 1)
    await store.promote()
    assert await store.count(ACME, CHUNKS, view=ALL) == 2
    await store.compact()
    await store.close()
    assert sorted(name.partition("__")[0] for name in shards(tmp_path)) == sorted(Collection)


async def test_edge_compacts_away_a_successor_that_nobody_opened(tmp_path: Path) -> None:
    """It has missed what was deleted since."""
    word = "Xanthoproteinuria"
    store = await edge(tmp_path)
    await store.upsert(ACME, CHUNKS, [point("a", 1, 0), point(word, 0, 1)])
    await (await store.successor(model=NEW, dimension=3)).upsert(ACME, CHUNKS, [point(word, 0, 1, 0)])
    await store.close()

    store = await edge(tmp_path)
    await store.delete(ACME, CHUNKS, [word])
    await store.compact()
    assert files_with(tmp_path, word) == []
    assert await store.count(ACME, CHUNKS, view=ALL) == 1
    assert await (await store.successor(model=NEW, dimension=3)).count(ACME, CHUNKS, view=ALL) == 0
    await store.close()


@pytest.mark.parametrize("after_ms", [0, 1, 3, 10])
async def test_a_promotion_that_is_cancelled_is_whole_before_anybody_opens_the_folder_again(
    tmp_path: Path, after_ms: int
) -> None:
    store = await edge(tmp_path)
    successor = await store.successor(model=NEW, dimension=3)
    await successor.upsert(ACME, CHUNKS, [point("a", 0, 0, 1)])
    promoted = asyncio.create_task(store.promote())
    await asyncio.sleep(after_ms / 1000)
    promoted.cancel()
    await asyncio.wait({promoted})
    await store.close()

    again = await edge(tmp_path, NEW, 3)  # at once, as a supervisor would
    assert await again.count(ACME, CHUNKS, view=ALL) == 1
    third = asyncio.create_task(again.successor(model=OLD, dimension=2))
    await asyncio.sleep(after_ms / 1000)
    third.cancel()
    await asyncio.wait({third})
    await (await again.successor(model=OLD, dimension=2)).upsert(ACME, CHUNKS, [point("b", 0, 1)])
    await again.promote()
    assert await again.count(ACME, CHUNKS, view=ALL) == 1
    await again.close()
