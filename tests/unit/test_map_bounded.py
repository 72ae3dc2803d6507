from __future__ import annotations

import asyncio

import pytest

from knotwork.adapters.models.concurrency import map_bounded
from knotwork.errors import ModelFailed


async def test_answers_come_in_the_order_of_the_items_and_never_too_many_at_once() -> None:
    running = most = 0

    async def work(item: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(10 - item):  # later items are quicker
            await asyncio.sleep(0)
        running -= 1
        return item * item

    assert await map_bounded(work, range(10), limit=3) == [item * item for item in range(10)]
    assert most == 3
    assert await map_bounded(work, [], limit=3) == []


async def test_the_first_failure_is_raised_as_it_is_and_ends_the_rest() -> None:
    ended: list[int] = []

    async def work(item: int) -> None:
        if item == 1:
            raise ModelFailed("one failed")
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(item)

    with pytest.raises(ModelFailed, match="one failed"):
        await map_bounded(work, range(5), limit=2)
    assert ended == [0]


async def test_two_callers_of_one_resource_take_turns() -> None:
    turns = asyncio.Semaphore(1)
    order: list[str] = []

    async def work(item: str) -> None:
        async with turns:
            order.append(item)
            await asyncio.sleep(0)

    await asyncio.gather(map_bounded(work, ["a"] * 6, limit=1), map_bounded(work, ["b"] * 3, limit=1))
    assert order.index("b") <= 1
    assert order[-1] == "a"
