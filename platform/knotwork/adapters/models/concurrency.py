"""Running many calls of one port method at once, but not too many."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")


async def map_bounded(
    function: Callable[[Item], Awaitable[Answer]], items: Sequence[Item], *, limit: int
) -> list[Answer]:
    """Apply `function` to every item, at most `limit` (≥ 1) at once; answers in the order of the items.

    The bound is the caller's own: two callers of one pool take turns there, since neither queues all its work at once.

    Raises:
        Exception: the first failure of `function`, as it is; the calls still running are cancelled and awaited.
    """
    answers: dict[int, Answer] = {}
    pending: Iterator[tuple[int, Item]] = iter(enumerate(items))

    async def work() -> None:
        for index, item in pending:  # shared by the tasks: each takes the next item when it is free
            answers[index] = await function(item)

    tasks = [asyncio.create_task(work()) for _ in range(min(limit, len(items)))]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return [answers[index] for index in range(len(items))]
