"""The promises of the Outlines port, kept by memory and by Neo4j."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from knotwork.adapters.memory.database import MemoryDatabase
from knotwork.adapters.memory.outlines import MemoryOutlines
from knotwork.adapters.neo4j.embedded import Neo4jAddress
from knotwork.adapters.neo4j.outlines import Neo4jOutlines
from knotwork.domain.filters import parse_filter
from knotwork.domain.model import EVERYONE, Heading, ParsedText, Subject, TenantId
from knotwork.domain.navigation import Outline
from knotwork.ports.catalogue import SourceWrite
from knotwork.ports.outlines import Outlines
from knotwork.ports.vector_store import View
from support.stores import Stores, doc, memory_stores, neo4j_session, neo4j_stores, new_tenant, source_of

ALL = View()
ANA = View(subjects=(EVERYONE, "user:ana"))


@dataclass(frozen=True, slots=True)
class Shelf:
    """The catalogue that is written to, and the outlines read from it."""

    stores: Stores
    outlines: Outlines
    tenant: TenantId

    async def put(
        self, name: str, *headings: str, subjects: tuple[Subject, ...] = (EVERYONE,), team: str = "edge"
    ) -> None:
        source = source_of(doc(name), subjects=subjects, metadata={"team": team})
        parsed = ParsedText("\n".join(headings), source.title, tuple(_placed(headings)))
        await self.stores.catalogue.put_sources(self.tenant, [SourceWrite(source, parsed, [])])

    async def first(self, view: View = ALL, limit: int = 10) -> list[str]:
        return [outline.ref.id for outline in await self.outlines.first(self.tenant, view=view, limit=limit)]


def _placed(headings: tuple[str, ...]) -> list[Heading]:
    return [Heading(place, 1, text) for place, text in enumerate(headings)]


class OutlinesContract:
    """A subclass adds the `shelf` fixture and nothing else."""

    async def test_an_outline_has_title_and_headings_in_the_order_of_the_text(self, shelf: Shelf) -> None:
        await shelf.put("a.md", "Zweck", "苹果", "About 😀", "Zweck")
        expected = Outline(doc("a.md"), "Title of a.md", ("Zweck", "苹果", "About 😀", "Zweck"))
        assert await shelf.outlines.first(shelf.tenant, view=ALL, limit=5) == [expected]
        assert await shelf.outlines.of(shelf.tenant, [doc("a.md")], view=ALL) == [expected]

    async def test_headings_stay_with_a_text_that_is_kept_and_go_with_one_that_is_replaced(self, shelf: Shelf) -> None:
        await shelf.put("a.md", "Old")
        kept = SourceWrite(source_of(doc("a.md"), metadata={"team": "ops"}), None, [])
        await shelf.stores.catalogue.put_sources(shelf.tenant, [kept])
        assert [one.headings for one in await shelf.outlines.first(shelf.tenant, view=ALL, limit=5)] == [("Old",)]
        await shelf.put("a.md")
        assert [one.headings for one in await shelf.outlines.first(shelf.tenant, view=ALL, limit=5)] == [()]

    async def test_the_first_are_those_of_the_view_in_order_of_their_names(self, shelf: Shelf) -> None:
        for name in ("\U0001f600.md", "c.md", "a.md", "\uffee.md"):
            await shelf.put(name)
        await shelf.put("b.md", subjects=("user:ben",))
        await shelf.put("d.md", team="ops")
        assert await shelf.first() == ["a.md", "b.md", "c.md", "d.md", "\uffee.md", "\U0001f600.md"]
        assert await shelf.first(limit=2) == ["a.md", "b.md"]
        assert await shelf.first(ANA, limit=2) == ["a.md", "c.md"]
        assert await shelf.first(View(ANA.subjects, parse_filter({"team": "ops"}))) == ["d.md"]

    async def test_named_outlines_come_in_the_order_asked_for_each_once_where_visible(self, shelf: Shelf) -> None:
        for name in ("a.md", "c.md"):
            await shelf.put(name)
        await shelf.put("b.md", subjects=("user:ben",))
        asked = [doc(name) for name in ("c.md", "b.md", "none.md", "a.md", "c.md")]
        found = await shelf.outlines.of(shelf.tenant, asked, view=ANA)
        assert [outline.ref.id for outline in found] == ["c.md", "a.md"]

    async def test_another_tenants_sources_are_not_seen(self, shelf: Shelf) -> None:
        await shelf.put("a.md")
        assert await shelf.outlines.first(new_tenant(), view=ALL, limit=5) == []
        assert await shelf.outlines.of(new_tenant(), [doc("a.md")], view=ALL) == []


class TestMemoryOutlines(OutlinesContract):
    @pytest.fixture
    def shelf(self) -> Shelf:
        database = MemoryDatabase()
        return Shelf(memory_stores(database), MemoryOutlines(database), new_tenant())


@pytest.mark.neo4j
class TestNeo4jOutlines(OutlinesContract):
    @pytest.fixture
    async def shelf(self, neo4j_server: Neo4jAddress) -> AsyncIterator[Shelf]:
        async with neo4j_session(neo4j_server) as session:
            yield Shelf(neo4j_stores(session), Neo4jOutlines(session), new_tenant())
