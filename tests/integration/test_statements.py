"""Every shipped statement says what it does, and the database runs it along its keys."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any, LiteralString, cast

import pytest

from knotwork.adapters.neo4j.embedded import Neo4jAddress
from knotwork.adapters.neo4j.session import Neo4jSession, Transaction
from knotwork.adapters.neo4j.statements import cypher_folder, schema_statements, statement
from support.stores import neo4j_session

READS = sorted(path.stem for path in (cypher_folder() / "read").glob("*.cypher"))
WRITES = sorted(path.stem for path in (cypher_folder() / "write").glob("*.cypher"))
ALL = [f"read/{name}" for name in READS] + [f"write/{name}" for name in WRITES]
# They are asked about everything, and say so: no parameters.
WITHOUT_KEY = {"read/tenants", "read/tenants_settings_due", "read/quotas", "read/paused_tenants", "read/key_guard"}
SCANS = {
    "AllNodesScan",
    "NodeByLabelScan",
    "UnionNodeByLabelsScan",
    "IntersectionNodeByLabelsScan",
    "NodeIndexScan",
    "NodeIndexContainsScan",
    "DirectedAllRelationshipsScan",
    "UndirectedAllRelationshipsScan",
    "DirectedRelationshipTypeScan",
    "UndirectedRelationshipTypeScan",
    "DirectedRelationshipIndexScan",
    "UndirectedRelationshipIndexScan",
}
IN_INDEX_ORDER = [
    "read/failed_chunks",
    "read/entity_keys_by_prefix",
    "read/export_entities",
    "read/export_relationships",
    "read/sources",
    "read/skill_graphs",
]
SORTS = {"Sort", "PartialSort", "Top", "PartialTop"}
# MERGE (c)-[m:MENTIONS]->(e) between nodes found by key is safe under their locks; these are the only types so merged.
MERGED_BETWEEN_KEYS = {"MENTIONS", "ASSERTS", "HAS_CHUNK", "HAS_TEXT", "NEXT", "HAS_VERSION"}


def header(name: str) -> dict[str, str]:
    """The parts of a statement's header, by name, each on one line."""
    parts: dict[str, str] = {}
    last = ""
    for line in statement(name).splitlines():
        if not line.startswith("//"):
            break
        if match := re.match(r"// (\w+): +(\S.*)", line):
            last = match[1]
            parts[last] = match[2]
        else:
            parts[last] += " " + line.removeprefix("//").strip()
    return parts


def body(name: str) -> str:
    return re.sub(r"//.*", "", statement(name))


@pytest.mark.parametrize("name", ALL)
def test_a_header_says_what_a_statement_is_for(name: str) -> None:
    parts = header(name)
    wanted = (
        ["Purpose", "Parameters", "Returns"] if name.startswith("read/") else ["Purpose", "Parameters", "Idempotence"]
    )
    assert [part for part in wanted if part not in parts] == []
    assert bool(re.search("^RETURN", body(name), re.MULTILINE)) == ("Returns" in parts)


@pytest.mark.parametrize("name", ALL)
def test_a_header_names_exactly_the_parameters_used(name: str) -> None:
    used = set(re.findall(r"\$(\w+)", body(name)))
    assert set(re.findall(r"\$(\w+)", header(name)["Parameters"])) == used
    assert bool(used) != (name in WITHOUT_KEY)


@pytest.mark.parametrize("name", ALL)
def test_only_writes_write(name: str) -> None:
    clauses = re.search(r"\b(CREATE|MERGE|DELETE|SET|REMOVE|DROP|LOAD|CALL\s+\w)\b", body(name))
    assert bool(clauses) == name.startswith("write/")


@pytest.mark.parametrize("name", ALL)
def test_a_file_is_used_by_the_code(name: str) -> None:
    adapters = Path(cypher_folder()).parent.glob("**/knotwork/adapters/neo4j/*.py")
    assert any(f'"{name}"' in path.read_text(encoding="utf-8") for path in adapters)


@pytest.mark.parametrize("name", [f"write/{name}" for name in WRITES])
def test_a_merge_goes_by_a_key_under_a_constraint(name: str) -> None:
    schema = "\n".join(schema_statements())
    for label, keys in re.findall(r"MERGE \(\w*:(\w+) \{(.*?)\}\)", body(name)):
        assert re.fullmatch(r"key: [\w.$]+", keys)
        assert re.search(rf"CONSTRAINT \w+ IF NOT EXISTS FOR \(n:{label}\) REQUIRE n.key IS UNIQUE", schema)
    for type_, keys in re.findall(r"MERGE \(\w+\)-\[\w*:(\w+) ?(.*?)\]->\(\w+\)", body(name)):
        if type_ not in MERGED_BETWEEN_KEYS:
            assert keys == "{key: row.key}"
            assert re.search(rf"FOR \(\)-\[r:{type_}\]-\(\) REQUIRE r.key IS UNIQUE", schema)
    merges = len(re.findall(r"\bMERGE\b", body(name)))
    assert merges == len(re.findall(r"MERGE (?:\(\w*:\w+ \{.*?\}\)|\(\w+\)-\[\w*:\w+.*?\]->\(\w+\))", body(name)))


@pytest.fixture(scope="module")
async def session(neo4j_server: Neo4jAddress) -> AsyncIterator[Neo4jSession]:
    async with neo4j_session(neo4j_server) as session:
        yield session


def operators(plan: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield plan["operatorType"].partition("@")[0].partition("(")[0], plan.get("args", {}).get("Details", "")
    for child in plan.get("children", ()):
        yield from operators(child)


async def plan_of(session: Neo4jSession, name: str) -> list[tuple[str, str]]:
    parameters = dict.fromkeys(re.findall(r"\$(\w+)", body(name)))

    async def work(tx: Transaction) -> list[tuple[str, str]]:
        result = await tx._tx.run(cast("LiteralString", f"EXPLAIN {statement(name)}"), parameters)
        return list(operators(cast("Mapping[str, Any]", (await result.consume()).plan)))

    return await session.write(work)


@pytest.mark.neo4j
@pytest.mark.parametrize("name", [name for name in ALL if name not in WITHOUT_KEY])
async def test_the_plan_of_a_statement_with_a_key_scans_nothing(session: Neo4jSession, name: str) -> None:
    assert [step for step in await plan_of(session, name) if step[0] in SCANS] == []


@pytest.mark.neo4j
@pytest.mark.parametrize("name", IN_INDEX_ORDER)
async def test_the_pages_of_a_statement_follow_its_index(session: Neo4jSession, name: str) -> None:
    """Cypher would sort by UTF-16 units, the index is in order of code points; nor is anything read past the page."""
    assert [step for step in await plan_of(session, name) if step[0] in SORTS] == []


@pytest.mark.neo4j
async def test_no_rows_make_no_round_trip(session: Neo4jSession) -> None:
    async def work(tx: Transaction) -> list[Mapping[str, Any]]:
        return await tx.rows_of("no/such_statement", "rows", [])

    assert await session.read(work) == []


@pytest.mark.neo4j
async def test_a_read_of_another_connection_sees_the_write_before_it(session: Neo4jSession) -> None:
    for number in range(20):
        tenant = f"bookmarks-{number}"
        await session.execute("write/put_tenant", key=tenant, tenant=tenant, settings="{}")
        assert await session.rows("read/tenant", key=tenant) == [{"settings": "{}"}]
