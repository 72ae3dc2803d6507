"""What Browser gets from us: the style it applies at login, and saved queries that fit the data as it is written."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import LiteralString, cast

import neo4j
import pytest
import pytest_asyncio

from knotwork.adapters.neo4j.browser_style import after_login
from knotwork.adapters.neo4j.catalogue import Neo4jCatalogue
from knotwork.adapters.neo4j.embedded import Neo4jAddress
from knotwork.adapters.neo4j.graph_store import Neo4jGraphStore
from knotwork.adapters.neo4j.session import Neo4jSession, open_driver
from knotwork.adapters.neo4j.statements import cypher_folder, statement
from knotwork.domain.catalogue import Evidence, ExtractionState, StoredChunk
from knotwork.domain.ids import chunk_id, content_hash, entity_label, join_entity_id, relationship_id
from knotwork.domain.model import Contribution, Entity, ParsedText, Relationship, Source, SourceRef, TenantId
from knotwork.ports.catalogue import SourceWrite

pytestmark = pytest.mark.neo4j

TENANT = TenantId("browser")
README = SourceRef("document", "readme")
TEXT = "The payments team owns the checkout service, which depends on the retry budget."
QUERIES = sorted((cypher_folder() / "browser").glob("*.cypher"))


@pytest_asyncio.fixture(scope="module")
async def driver(neo4j_server: Neo4jAddress) -> AsyncGenerator[neo4j.AsyncDriver]:
    """A driver, and one source that ties the names which the saved queries ask about."""
    async with open_driver(neo4j_server.bolt_uri, neo4j_server.user, neo4j_server.password) as opened:
        session = Neo4jSession(opened)
        await session.apply_schema()
        chunk = chunk_id(README, TEXT, 0)
        stored = StoredChunk(chunk, 0, 0, len(TEXT), content_hash(TEXT), title="Read me", headings=("Teams",), page=1)
        source = Source(README, "Read me", content_hash(TEXT))
        catalogue = Neo4jCatalogue(session)
        await catalogue.put_sources(TENANT, [SourceWrite(source, ParsedText(TEXT), [stored])])
        team, service, budget = (
            Entity(join_entity_id(type_, name), type_, name, surface_forms=(name,), provenance=(chunk,))
            for type_, name in (("team", "payments team"), ("service", "checkout service"), ("concept", "retry budget"))
        )
        facts = tuple(
            Relationship(relationship_id(a.id, type_, b.id), a.id, b.id, type_, provenance=(chunk,))
            for a, type_, b in ((team, "owns", service), (service, "depends-on", budget))
        )
        contribution = Contribution(tuple(sorted((team, service, budget), key=lambda one: one.id)), facts)
        await Neo4jGraphStore(session).put_evidence(TENANT, [Evidence(chunk, "", ExtractionState.DONE, contribution)])
        yield opened
        await catalogue.delete_tenant(TENANT)


@pytest.mark.parametrize("path", QUERIES, ids=[path.stem for path in QUERIES])
async def test_a_saved_query_finds_rows_in_its_tenant_alone(driver: neo4j.AsyncDriver, path: Path) -> None:
    text = statement(f"browser/{path.stem}")
    assert text.startswith("// Title: ")
    assert "\nLIMIT " in text
    assert text.count("WITH 'default' AS tenant") == 1
    ours = cast("LiteralString", text.replace("'default' AS tenant", f"'{TENANT}' AS tenant"))
    assert (await driver.execute_query(ours)).records
    nobodys = cast("LiteralString", text.replace("'default' AS tenant", "'nobody' AS tenant"))
    assert (await driver.execute_query(nobodys)).records == []


async def test_browser_is_told_the_style_that_is_shipped(driver: neo4j.AsyncDriver) -> None:
    answer = await driver.execute_query("SHOW SETTINGS YIELD name, value WHERE name = 'browser.post_connect_cmd'")
    assert answer.records[0]["value"] == after_login()


def test_the_style_survives_browsers_cut_at_semicolons() -> None:
    commands = after_login().split(";")
    assert [command.split(" ")[0] for command in commands] == ["style", "clear"]
    rules = json.loads(commands[0].removeprefix("style "))
    assert rules["relationship.RELATES"]["caption"] == "{type}"
    sheet = (cypher_folder() / "browser" / "style.grass").read_text(encoding="utf-8")
    assert len(rules) == sheet.count("}\n")
    assert sum(map(len, rules.values())) == sheet.count(";")


@pytest.mark.parametrize("type_", ["person", "organisation", "place", "team", "service", "product", "event", "work"])
def test_a_type_of_the_packaged_extractor_has_a_colour_of_its_own(type_: str) -> None:
    rules = json.loads(after_login().split(";")[0].removeprefix("style "))
    assert rules[f"node.{entity_label(type_)}"]["color"] != rules["node.Entity"]["color"]
