"""Worker processes: real ones, that crash, hang, and lose their parent."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from knotwork.adapters.models.workers import WorkerPool
from knotwork.errors import InvalidInput, ModelFailed, NotFound, SetupFailed
from support.worker_tasks import (
    crash,
    crash_unless_marked,
    fail_with_a_vendors_error,
    fail_with_facts,
    fail_with_setup,
    niceness,
    print_and_double,
    process_id,
    settings_seen,
    work,
)


@pytest.fixture
async def pool() -> AsyncIterator[WorkerPool]:
    pool = WorkerPool(1)
    yield pool
    await pool.close()


async def test_a_worker_stays_for_the_next_call(pool: WorkerPool) -> None:
    first = await pool.run(process_id)
    assert first != os.getpid()
    assert await pool.run(process_id) == first


async def test_as_many_calls_run_at_once_as_there_are_workers() -> None:
    pool = WorkerPool(2)
    try:
        assert len(set(await asyncio.gather(*(pool.run(work, 0.3) for _ in range(4))))) == 2
    finally:
        await pool.close()


async def test_what_a_library_prints_does_not_disturb_the_answer(pool: WorkerPool) -> None:
    assert await pool.run(print_and_double, b"x" * 1_000_000) == b"x" * 2_000_000


async def test_a_crashed_worker_is_replaced_and_its_call_done_again(pool: WorkerPool, tmp_path: Path) -> None:
    first = await pool.run(process_id)
    assert await pool.run(crash_unless_marked, tmp_path / "marker") != first


async def test_a_call_that_always_crashes_fails_and_the_pool_lives_on(pool: WorkerPool) -> None:
    with pytest.raises(ModelFailed, match="crash ended its worker process 2 times"):
        await pool.run(crash)
    assert await pool.run(process_id) > 0


async def test_a_crash_harms_no_other_call() -> None:
    pool = WorkerPool(2)
    try:
        await asyncio.gather(*(pool.run(work, 0.1) for _ in range(2)))
        slow = asyncio.create_task(pool.run(work, 0.5))
        with pytest.raises(ModelFailed):
            await pool.run(crash)
        assert await slow > 0
    finally:
        await pool.close()


async def test_a_call_that_hangs_is_ended_at_its_time_out(pool: WorkerPool) -> None:
    worker = await pool.run(process_id)
    with pytest.raises(ModelFailed, match="work took over"):
        await pool.run(work, 60, timeout_s=0.2)
    assert not psutil.pid_exists(worker)
    assert await pool.run(process_id) != worker


async def test_a_cancelled_call_frees_its_worker(pool: WorkerPool) -> None:
    worker = await pool.run(process_id)
    call = asyncio.create_task(pool.run(work, 60))
    await asyncio.sleep(0.1)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert not psutil.pid_exists(worker)
    assert await pool.run(process_id) > 0


async def test_errors_of_the_platform_keep_their_type(pool: WorkerPool) -> None:
    with pytest.raises(SetupFailed, match="the file is missing"):
        await pool.run(fail_with_setup)


async def test_an_error_of_ours_keeps_its_facts(pool: WorkerPool) -> None:
    with pytest.raises(NotFound, match=r"source named 'a\.md'"):
        await pool.run(fail_with_facts)


async def test_what_is_nested_too_deeply_to_be_handed_over_is_refused(pool: WorkerPool) -> None:
    deep: list[object] = []
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(InvalidInput, match="nested too deeply"):
        await pool.run(len, deep)


async def test_other_errors_become_model_failed_with_a_short_message(pool: WorkerPool) -> None:
    with pytest.raises(ModelFailed, match=r"a worker failed with ZeroDivisionError") as caught:
        await pool.run(fail_with_a_vendors_error)
    assert len(str(caught.value)) < 400


async def test_a_worker_sees_no_settings_and_gives_way_to_the_service(
    pool: WorkerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KNOTWORK_EMBEDDING_API_KEY", "secret")
    assert await pool.run(settings_seen) == []
    assert await pool.run(niceness) > os.getpriority(os.PRIO_PROCESS, 0)


async def test_closing_ends_idle_busy_and_waiting_calls_and_every_process() -> None:
    pool = WorkerPool(1)
    worker = await pool.run(process_id)
    calls = [asyncio.create_task(pool.run(work, 60)) for _ in range(2)]
    await asyncio.sleep(0.1)
    await pool.close()
    for call in calls:
        with pytest.raises(ModelFailed, match="closed"):
            await call
    assert not psutil.pid_exists(worker)
    with pytest.raises(ModelFailed, match="closed"):
        await pool.run(process_id)
    await pool.close()


def workers() -> set[int]:
    """The worker processes of this process, those of other tests' pools among them."""
    children = psutil.Process().children()
    return {child.pid for child in children if "worker_process" in " ".join(child.cmdline())}


async def test_a_pool_can_be_closed_while_a_worker_starts() -> None:
    before = workers()
    pool = WorkerPool(1)
    call = asyncio.create_task(pool.run(work, 60))
    await asyncio.sleep(0)
    await pool.close()
    with pytest.raises(ModelFailed, match="closed"):
        await call
    assert workers() <= before


PARENT = """
import asyncio, os, time
from knotwork.adapters.models.workers import WorkerPool

async def main():
    pool = WorkerPool(1)
    print(await pool.run(os.getpid), flush=True)
    await pool.run(time.sleep, 60)

asyncio.run(main())
"""


def test_a_busy_worker_ends_when_its_parent_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        worker = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
        parent.wait()
    _, alive = psutil.wait_procs([worker], timeout=5)
    assert not alive
