"""Maintenance: long operations on the stores, one at a time, and how far each has come."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import structlog

from knotwork.domain.model import TenantId
from knotwork.errors import MaintenanceUnderWay, NotFound, PlatformError
from knotwork.run_ids import new_run_id
from knotwork.services.export import Tell

log = structlog.get_logger()

KEPT = 50  # operations that are over and still told of


class OperationKind(StrEnum):
    EXPORT = "export"
    IMPORT = "import"
    VERIFY = "verify"
    SEARCH = "search"
    REPAIR = "repair"
    COMPACT = "compact"
    CHANGE_MODEL = "change-model"
    DELETE = "delete"  # of a tenant


class OperationState(StrEnum):
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation as it is. `tenant` None: of every tenant; `total` 0: not known; `result`: its service's report."""

    id: str
    kind: OperationKind
    tenant: TenantId | None
    started_at: float  # seconds since the epoch
    state: OperationState = OperationState.RUNNING
    step: str = ""
    done: int = 0
    total: int = 0
    error_code: str | None = None
    error: str | None = None
    result: object = None

    @property
    def is_over(self) -> bool:
        return self.state is not OperationState.RUNNING


class Maintenance:
    """The operations of this process. A tenant has one at a time, and one on every tenant excludes all others."""

    def __init__(self) -> None:
        self._busy: dict[TenantId | None, OperationKind] = {}
        self._operations: dict[str, Operation] = {}  # oldest first
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._changed = asyncio.Event()

    async def stop(self) -> None:
        """Cancel what is under way, and return when it has cleaned up."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    @contextmanager
    def alone(self, kind: OperationKind, tenant: TenantId | None) -> Generator[None]:
        """Have no other operation that concerns the tenant (None: any) inside the block.

        Raises:
            MaintenanceUnderWay: there is one.
        """
        self._occupy(kind, tenant)
        try:
            yield
        finally:
            del self._busy[tenant]

    def start(
        self, kind: OperationKind, tenant: TenantId | None, work: Callable[[Tell], Awaitable[object]]
    ) -> Operation:
        """Begin an operation and return; its end is told by `operation` and `watch`.

        Args:
            kind: What it is.
            tenant: Whose data it concerns; None: everyone's.
            work: Does it, tells how far it has come, and returns its report.
        Raises:
            MaintenanceUnderWay: another one is under way.
        """
        self._occupy(kind, tenant)
        operation = Operation(new_run_id(), kind, tenant, started_at=time.time())
        over = [id_ for id_ in self._operations if id_ not in self._tasks]
        for id_ in over[: max(0, len(over) - KEPT + 1)]:
            del self._operations[id_]
        self._operations[operation.id] = operation
        task = asyncio.create_task(self._carry_out(operation, work))
        self._tasks[operation.id] = task
        task.add_done_callback(lambda _: self._close(operation))
        return operation

    def operation(self, id_: str) -> Operation:
        """An operation of this process.

        Raises:
            NotFound: there is none; those that are long over are forgotten, as are all when the service restarts.
        """
        if id_ not in self._operations:
            raise NotFound("operation", id_)
        return self._operations[id_]

    def operations(self) -> list[Operation]:
        """Those under way and the last that are over, newest first."""
        return list(reversed(self._operations.values()))

    async def watch(self, id_: str) -> AsyncGenerator[Operation]:
        """The operation as it is, then after changes, until it is over.

        Raises:
            NotFound: there is none.
        """
        seen: Operation | None = None
        while True:
            changed, operation = self._changed, self.operation(id_)
            if operation != seen:
                seen = operation
                yield operation
            if operation.is_over:
                return
            await changed.wait()

    async def cancel(self, id_: str) -> Operation:
        """Stop an operation, and return when it has cleaned up; one that is over stays as it is.

        A compaction goes on: the stores change places in its last step, which must not be left half way.

        Raises:
            NotFound: there is none.
        """
        operation = self.operation(id_)
        task = self._tasks.get(id_)
        if task is not None and operation.kind is not OperationKind.COMPACT:
            task.cancel()
            await asyncio.wait({task})
        return self.operation(id_)

    def _occupy(self, kind: OperationKind, tenant: TenantId | None) -> None:
        other = self._busy.get(tenant) or self._busy.get(None)
        if other is None and tenant is None:
            other = next(iter(self._busy.values()), None)
        if other is not None:
            raise MaintenanceUnderWay(other.value)
        self._busy[tenant] = kind

    async def _carry_out(self, operation: Operation, work: Callable[[Tell], Awaitable[object]]) -> None:
        def tell(step: str, done: int, total: int) -> None:
            self._set(operation.id, step=step, done=done, total=total)

        try:
            result = await work(tell)
        except PlatformError as error:
            log.warning("operation_failed", kind=operation.kind.value, code=error.code, exc_info=error)
            self._end(operation, OperationState.FAILED, error_code=error.code, error=str(error))
        except Exception:  # whatever it is, whoever waits hears of an end
            log.exception("operation_failed", kind=operation.kind.value, code=PlatformError.code)
            told = "something unexpected failed; the service's log says what"
            self._end(operation, OperationState.FAILED, error_code=PlatformError.code, error=told)
        else:
            log.info("operation_done", kind=operation.kind.value, tenant=operation.tenant)
            self._end(operation, OperationState.DONE, result=result)

    def _close(self, operation: Operation) -> None:
        """The task has ended, by itself or cancelled, even before it began."""
        if not self._operations[operation.id].is_over:
            self._end(operation, OperationState.CANCELLED)
        del self._tasks[operation.id]

    def _end(self, operation: Operation, state: OperationState, **changes: Any) -> None:
        del self._busy[operation.tenant]  # first: whoever hears of the end may begin the next
        self._set(operation.id, state=state, **changes)

    def _set(self, id_: str, **changes: Any) -> None:
        self._operations[id_] = replace(self._operations[id_], **changes)
        self._changed.set()
        self._changed = asyncio.Event()
