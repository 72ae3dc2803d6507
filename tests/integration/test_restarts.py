"""What the machine of test_law.py has found, each as a case of its own."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from knotwork.domain.catalogue import AcceptedRun, Run, RunKind, RunState, SourceChange, TenantSettings
from knotwork.domain.model import Contribution, SourceRef
from knotwork.run_ids import new_run_id
from support.stack import SentenceExtractor, Stack, Stores, build_stack, open_stack

pytestmark = pytest.mark.neo4j

REF = SourceRef("document", "a.md")


@pytest.fixture
async def stack(stores: Stores) -> AsyncGenerator[Stack]:
    async with open_stack(stores, SentenceExtractor()) as stack:
        await stack.put(REF.id, "Checkout calls Ledger.")
        await stack.intake.stop()
        yield stack


@asynccontextmanager
async def next_start(stores: Stores, stack: Stack) -> AsyncGenerator[Stack]:
    """The services of a later process, once all that it found to do is done."""
    following = build_stack(stores, stack.tenant, SentenceExtractor())
    await following.intake.start()
    try:
        await following.intake.settle(stack.tenant)
        yield following
    finally:
        await following.intake.stop()


async def test_a_switch_turned_by_a_process_that_ended_at_once_is_followed_by_the_next(
    stack: Stack, stores: Stores
) -> None:
    await stack.catalogue.put_tenant(stack.tenant, TenantSettings(graph=False))  # so far it came
    async with next_start(stores, stack) as following:
        assert await following.exported() == Contribution()
        assert stack.tenant not in await following.catalogue.settings_due()


async def test_to_look_again_at_a_source_that_an_earlier_run_deletes_is_no_failure(
    stack: Stack, stores: Stores
) -> None:
    deleting = Run(new_run_id(), RunKind.DELETE, REF)
    looking = Run(new_run_id(), RunKind.UPDATE, REF, change=SourceChange())
    changing = Run(new_run_id(), RunKind.UPDATE, REF, change=SourceChange(auth_subjects=("user:ana",)))
    await stack.ledger.accept(stack.tenant, [AcceptedRun(deleting), AcceptedRun(looking), AcceptedRun(changing)])
    async with next_start(stores, stack) as following:
        ended = {run.id: run.state for run in await following.ledger.runs(stack.tenant)}
        assert ended[deleting.id] is ended[looking.id] is RunState.DONE
        assert ended[changing.id] is RunState.FAILED  # somebody wanted a change of what is not there
        assert await following.exported() == Contribution()
