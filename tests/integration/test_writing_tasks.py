"""Tasks of one service that write about the same entities at once leave what one task leaves that does it in order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from knotwork.domain.catalogue import RunState, TenantSettings
from knotwork.domain.model import TenantId
from support.law import FIVE, Document, PerTenant, Service, about_all_five, build_service
from support.stack import Stores
from support.stores import new_tenant

pytestmark = pytest.mark.neo4j

SETTINGS = TenantSettings(graph=True, extraction_model="a1")
WRITERS = 8
VERSIONS = (3, 4)


@dataclass(frozen=True, slots=True)
class Writer:
    """A service, and the tenant that it writes to."""

    stores: Stores
    service: Service
    tenant: TenantId

    async def put(self, name: str, document: Document) -> None:
        """Put a document and wait until it is done."""
        intake = self.service.stack.intake
        run = await intake.put(self.tenant, document.source(name), document.parsed)
        over = await intake.wait(self.tenant, run.id)
        assert (over.state, over.error) == (RunState.DONE, None)

    async def left(self) -> list[bytes]:
        """What it has left in the stores, which agree, with each entity and fact but once."""
        assert (await self.service.verifier.verify(self.tenant)).is_clean
        async with self.stores.session._driver.session() as session:
            found = await session.run(
                "MATCH (n:Entity|Fact {tenant: $tenant}) RETURN n.id AS id, count(*) AS times", tenant=self.tenant
            )
            times = {record["id"]: record["times"] async for record in found}
        assert set(times) >= {f"thing:{name.lower()}" for name in FIVE}
        assert set(times.values()) == {1}
        return (await self.service.export(self.tenant)).splitlines()


@asynccontextmanager
async def writing(stores: Stores, *, concurrency: int) -> AsyncGenerator[Writer]:
    tenant = new_tenant()
    service = build_service(stores, [tenant], PerTenant(lambda _: None), concurrency=concurrency)
    await service.settings.put(tenant, SETTINGS)
    await service.start()
    try:
        yield Writer(stores, service, tenant)
    finally:
        await service.stack.intake.stop()
        await service.stack.catalogue.delete_tenant(tenant)
        await stores.vectors.drop_tenant(tenant)


async def serial(stores: Stores, documents: Sequence[tuple[str, Document]]) -> list[bytes]:
    """What is left by one who puts these in turn."""
    async with writing(stores, concurrency=1) as writer:
        for name, document in documents:
            await writer.put(name, document)
        return await writer.left()


async def test_eight_tasks_write_about_the_same_five_in_opposite_order(stores: Stores) -> None:
    async with writing(stores, concurrency=4) as writer:

        async def write(number: int) -> None:
            for version in VERSIONS:
                await writer.put(f"{number}.md", about_all_five(number, version))

        await asyncio.gather(*map(write, range(WRITERS)))
        left = await writer.left()
    in_turn = [(f"{number}.md", about_all_five(number, VERSIONS[-1])) for number in range(WRITERS)]
    assert left == await serial(stores, in_turn)


async def test_six_puts_of_one_document_at_once_make_one_source(stores: Stores) -> None:
    document = about_all_five(0, 3)
    async with writing(stores, concurrency=4) as writer:
        await asyncio.gather(*(writer.put("a.md", document) for _ in range(6)))
        left = await writer.left()
        counts = await writer.service.stack.catalogue.counts(writer.tenant)
        assert (counts["sources"], counts["entities"]) == (1, len(FIVE) + 1)  # "So" begins a sentence, and is one
    assert left == await serial(stores, [("a.md", document)])
