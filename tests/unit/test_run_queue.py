from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from knotwork.domain.catalogue import Run, RunKind, RunState
from knotwork.domain.model import Source, SourceRef, TenantId
from knotwork.run_ids import new_run_id
from knotwork.services.run_queue import BATCH_CHARS, BATCH_RUNS, RunQueue

A, B = TenantId("a"), TenantId("b")


def run_of(id_: str, *, chars: int = 1, state: RunState = RunState.QUEUED) -> Run:
    ref = SourceRef("document", id_)
    return Run(new_run_id(), RunKind.INDEX, ref, state=state, source=Source(ref, "", "", size_chars=chars))


def queue_of(*runs: tuple[TenantId, Run]) -> RunQueue:
    queue = RunQueue()
    for tenant, run in runs:
        queue.add(tenant, run)
    return queue


def test_a_batch_is_of_one_tenant_and_holds_no_source_twice() -> None:
    first, other, second, again = run_of("1"), run_of("1"), run_of("2"), run_of("1")
    queue = queue_of((A, first), (B, other), (A, second), (A, again))
    assert queue.take_batch() == (A, [first, second])
    assert queue.take_batch() == (B, [other])
    assert not queue.has_next
    queue.close(first.id)
    queue.release(A, [first, second])
    assert queue.take_batch() == (A, [again])


def test_a_batch_is_bounded_by_runs_and_by_text_and_one_long_source_goes_alone() -> None:
    many = queue_of(*((A, run_of(str(number))) for number in range(BATCH_RUNS + 1)))
    assert len(many.take_batch()[1]) == BATCH_RUNS
    long = [run_of("1", chars=BATCH_CHARS * 2), run_of("2")]
    queue = queue_of(*((A, run) for run in long))
    assert queue.take_batch() == (A, long[:1])


def test_a_paused_tenant_waits_and_others_go_on() -> None:
    mine, other = run_of("1"), run_of("1")
    queue = queue_of((A, mine), (B, other))
    queue.pause(A, paused=True)
    assert queue.take_batch() == (B, [other])
    assert (queue.has_next, queue.waiting, queue.under_way) == (False, 1, 1)
    queue.pause(A, paused=False)
    assert queue.take_batch() == (A, [mine])


def test_a_run_that_is_withdrawn_is_not_started_and_one_restored_has_its_old_place() -> None:
    first, second = run_of("1"), run_of("1")
    queue = queue_of((A, first), (A, second))
    assert queue.withdraw(first.id)
    assert not queue.withdraw(first.id)
    queue.restore(A, first)
    assert queue.take_batch() == (A, [first])
    assert not queue.withdraw(first.id)


def test_an_announced_run_is_open_and_cannot_start() -> None:
    run = run_of("1")
    queue = RunQueue()
    queue.announce(A, run)
    assert (queue.has_next, queue.waiting, queue.runs_of(A, run.ref)) == (False, 1, [run])
    assert queue.progress(B, run.id) is None
    queue.add(A, run)
    assert queue.take_batch() == (A, [run])
    assert queue.waiting_refs(A) == set()


def test_a_run_that_an_earlier_process_left_counts_as_begun_and_stays_cancelled() -> None:
    left, fresh = run_of("1", state=RunState.CANCELLING), run_of("2")
    queue = RunQueue()
    queue.take_up(A, left)
    queue.add(A, fresh)
    assert (queue.has_begun(left.id), queue.has_begun(fresh.id)) == (True, False)
    assert (queue.is_cancelled(left.id), queue.is_cancelled(fresh.id)) == (True, False)
    queue.close(left.id)
    assert not queue.has_begun(left.id)
    assert not queue.is_cancelled(left.id)


class Worker:
    """Starts whatever can start, and ends batches, the newest first."""

    def __init__(self, queue: RunQueue) -> None:
        self._queue = queue
        self._under_way: list[tuple[TenantId, list[Run]]] = []
        self.started: list[tuple[TenantId, Run]] = []

    def start(self) -> None:
        while self._queue.has_next:
            tenant, runs = self._queue.take_batch()
            self.started.extend((tenant, run) for run in runs)
            self._under_way.append((tenant, runs))

    def end(self) -> bool:
        """End a batch; False when none is under way."""
        if not self._under_way:
            return False
        tenant, runs = self._under_way.pop()
        for run in runs:
            self._queue.close(run.id)
        self._queue.release(tenant, runs)
        return True


EVENTS = st.tuples(st.sampled_from([A, B]), st.sampled_from("123"), st.sampled_from(["pause", "resume", "work"]))


@given(st.lists(EVENTS))
def test_runs_of_one_source_are_started_in_order_whatever_happens(events: list[tuple[TenantId, str, str]]) -> None:
    queue = RunQueue()
    worker = Worker(queue)
    accepted: list[tuple[TenantId, Run]] = []
    for tenant, id_, event in events:
        accepted.append((tenant, run_of(id_)))
        queue.add(*accepted[-1])
        if event == "work":
            worker.start()
            worker.end()
        else:
            queue.pause(tenant, paused=event == "pause")
    queue.pause(A, paused=False)
    queue.pause(B, paused=False)
    worker.start()
    while worker.end():
        worker.start()
    for key in {(tenant, run.ref) for tenant, run in accepted}:
        order = [run.id for tenant, run in worker.started if (tenant, run.ref) == key]
        assert order == [run.id for tenant, run in accepted if (tenant, run.ref) == key]
    assert (queue.waiting, queue.under_way) == (0, 0)
