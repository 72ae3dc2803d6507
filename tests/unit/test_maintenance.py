"""Operations on the stores: one at a time, watched, cancelled, forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from knotwork.domain.model import TenantId
from knotwork.errors import ExportDamaged, MaintenanceUnderWay, NotFound
from knotwork.services.export import Tell
from knotwork.services.maintenance import KEPT, Maintenance, Operation, OperationKind, OperationState

ACME, GLOBEX = TenantId("acme"), TenantId("globex")


async def forever(tell: Tell) -> None:
    tell("sources", 1, 2)
    await asyncio.Event().wait()


def ending(result: object) -> Callable[[Tell], Awaitable[object]]:
    async def work(tell: Tell) -> object:
        tell("sources", 1, 2)
        await asyncio.sleep(0)
        return result

    return work


async def over(maintenance: Maintenance, operation: Operation) -> Operation:
    return [one async for one in maintenance.watch(operation.id)][-1]


async def test_a_tenant_has_one_operation_at_a_time_and_another_tenant_its_own() -> None:
    maintenance = Maintenance()
    first = maintenance.start(OperationKind.VERIFY, ACME, forever)
    with pytest.raises(MaintenanceUnderWay, match="verify is under way"):
        maintenance.start(OperationKind.REPAIR, ACME, forever)
    with pytest.raises(MaintenanceUnderWay), maintenance.alone(OperationKind.EXPORT, ACME):
        pass
    with maintenance.alone(OperationKind.EXPORT, GLOBEX):
        pass
    await maintenance.cancel(first.id)
    assert (await over(maintenance, maintenance.start(OperationKind.REPAIR, ACME, ending(1)))).result == 1


async def test_what_concerns_every_tenant_excludes_all_others() -> None:
    maintenance = Maintenance()
    with maintenance.alone(OperationKind.EXPORT, ACME), pytest.raises(MaintenanceUnderWay, match="export"):
        maintenance.start(OperationKind.COMPACT, None, forever)
    maintenance.start(OperationKind.COMPACT, None, forever)
    for tenant in (ACME, None):
        with pytest.raises(MaintenanceUnderWay, match="compact"):
            maintenance.start(OperationKind.VERIFY, tenant, forever)
    await maintenance.stop()
    with maintenance.alone(OperationKind.EXPORT, ACME):
        pass


async def test_whoever_watches_sees_each_step_and_the_end() -> None:
    maintenance = Maintenance()
    started = maintenance.start(OperationKind.VERIFY, ACME, ending("report"))
    seen = [(one.state, one.step, one.done, one.total, one.result) async for one in maintenance.watch(started.id)]
    assert seen == [
        (OperationState.RUNNING, "", 0, 0, None),
        (OperationState.RUNNING, "sources", 1, 2, None),
        (OperationState.DONE, "sources", 1, 2, "report"),
    ]


async def test_an_operation_is_cancelled_when_its_work_has_cleaned_up_and_a_compaction_is_not() -> None:
    maintenance = Maintenance()
    cleaned: list[str] = []

    async def careful(tell: Tell) -> None:
        try:
            await forever(tell)
        finally:
            await asyncio.sleep(0.01)
            cleaned.append("up")

    started = maintenance.start(OperationKind.IMPORT, ACME, careful)
    await asyncio.sleep(0)
    assert (await maintenance.cancel(started.id)).state is OperationState.CANCELLED
    assert cleaned == ["up"]
    assert (await maintenance.cancel(started.id)).state is OperationState.CANCELLED
    compaction = maintenance.start(OperationKind.COMPACT, None, forever)
    assert (await maintenance.cancel(compaction.id)).state is OperationState.RUNNING
    await maintenance.stop()


async def test_a_failure_is_told_by_its_code_and_an_unexpected_one_gives_nothing_away() -> None:
    maintenance = Maintenance()

    async def damaged(_: Tell) -> None:
        raise ExportDamaged("line 7 is cut off")

    async def broken(_: Tell) -> None:
        raise RuntimeError("password: hunter2")

    failed = await over(maintenance, maintenance.start(OperationKind.IMPORT, ACME, damaged))
    assert (failed.state, failed.error_code) == (OperationState.FAILED, "export_damaged")
    assert failed.error == "line 7 is cut off"
    failed = await over(maintenance, maintenance.start(OperationKind.IMPORT, ACME, broken))
    assert (failed.state, failed.error_code) == (OperationState.FAILED, "internal")
    assert "hunter2" not in str(failed.error)


async def test_operations_that_are_long_over_are_forgotten_and_those_under_way_never() -> None:
    maintenance = Maintenance()
    running = maintenance.start(OperationKind.VERIFY, GLOBEX, forever)
    ids = [
        (await over(maintenance, maintenance.start(OperationKind.VERIFY, ACME, ending(number)))).id
        for number in range(KEPT + 3)
    ]
    with pytest.raises(NotFound):
        maintenance.operation(ids[0])
    told = [one.id for one in maintenance.operations()]
    assert told[:KEPT] == [*reversed(ids[-KEPT:])]
    assert (told[-1], len(told) <= KEPT + 2) == (running.id, True)
    await maintenance.stop()
