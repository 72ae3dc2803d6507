"""Traversals on a real Neo4j: who sees what, and what is refused; test_shipped_traversals.py has what each answers."""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path
from typing import LiteralString, cast

import pytest
import pytest_asyncio
from neo4j.exceptions import ClientError

from knotwork.adapters.files.traversal_files import traversal_files
from knotwork.adapters.neo4j.statements import cypher_folder
from knotwork.adapters.neo4j.traversals import Neo4jTraversals
from knotwork.domain.retrieval import Reader
from knotwork.errors import (
    EverySourceNeeded,
    InvalidInput,
    LimitReached,
    NotAllowed,
    NotFound,
    TraversalRefused,
)
from knotwork.ports.traversals import Explained, TraversalFile
from knotwork.services.naming import Naming
from knotwork.services.traversals import Traversals
from support.stack import SentenceExtractor, Stack, Stores, open_stack

pytestmark = pytest.mark.neo4j

SHIPPED = traversal_files(cypher_folder() / "traversals", is_shipped=True)
EVERYONE = ("*",)
Row = tuple[object, ...]


def yours(name: str, body: str, *, header: str = "", columns: str = "id") -> TraversalFile:
    """A user's file with a header as it must be."""
    declared = "".join(f"// Column: {column} STRING: something.\n" for column in columns.split())
    return TraversalFile(name, f"// Name: {name}\n// Question: Which?\n{header}{declared}{body}", is_shipped=False)


async def loaded(stores: Stores, stack: Stack, *files: TraversalFile, timeout_s: float = 10) -> Traversals:
    """A service of these files."""
    runner = Neo4jTraversals(stores.session)
    service = Traversals(runner, Naming(stack.graph), files, max_rows=1000, timeout_s=timeout_s)
    await service.check()
    return service


@pytest_asyncio.fixture(scope="module")
async def shipped(stores: Stores, stack: Stack) -> Traversals:
    """The service as it is shipped, for any tenant."""
    return await loaded(stores, stack, *SHIPPED)


@pytest_asyncio.fixture(scope="module")
async def stack(stores: Stores) -> AsyncGenerator[Stack]:
    """A small planted graph, which no test changes."""
    async with open_stack(stores, SentenceExtractor()) as stack:
        await stack.put(
            "plan", "Checkout uses Ledger. Ledger needs Budget. Ana owns Checkout.", metadata={"date": "2026-01-05"}
        )
        await stack.put(
            "ops", "Ledger needs Budget. Portal needs Ledger. Ana owns Portal.", metadata={"date": "2026-02-01"}
        )
        await stack.put("notes", "Ana and Zed went for a long walk.")
        yield stack


async def rows(shipped: Traversals, stack: Stack, name: str, **given: object) -> Sequence[Row]:
    return (await shipped.run(Reader(stack.tenant), name, given))[1].rows


def fact(text: str) -> str:
    a, type_, b = text.split()
    return f"thing:{a}|{type_}|thing:{b}"


async def test_a_reader_gets_the_rows_of_a_store_that_holds_only_what_they_see(
    stores: Stores, shipped: Traversals
) -> None:
    chance = random.Random(7)
    names = [f"E{number}" for number in range(7)]
    reader = ("*", "group:a")
    given: Mapping[str, Mapping[str, object]] = {
        "shortest-paths": {"start": "E0", "goal": "E1"},
        "common-neighbours": {"first": "E0", "second": "E1"},
        "source-entities": {"source_id": "doc1"},
        "only-source-says": {"source_id": "doc1"},
        "dependants": {"entity": "E0", "types": []},
    } | {name: {"entity": "E0"} for name in ("neighbourhood", "co-mentions", "timeline", "similar-entities")}
    async with open_stack(stores, SentenceExtractor()) as whole, open_stack(stores, SentenceExtractor()) as part:
        for number in range(9):
            pairs = [chance.sample(names, 2) for _ in range(3)]
            text = " ".join(f"{a} {chance.choice('xy')} {b}." for a, b in pairs) + f" Lone{number} stood."
            subject, date = ("*", "group:a", "group:b")[number % 3], {"date": f"2026-01-{10 - number:02}"}
            await whole.put(f"doc{number}", text, subjects=[subject], metadata=date)
            if subject in reader:
                await part.put(f"doc{number}", text, subjects=[subject], metadata=date)
        runs = shipped
        for file in SHIPPED:
            values = given.get(file.name, {})
            seen = await runs.run(Reader(whole.tenant, reader), file.name, values)
            alone = await runs.run(Reader(part.tenant, None), file.name, values)
            assert seen[1] == alone[1], file.name
            everything = await runs.run(Reader(whole.tenant, None), file.name, values)
            assert everything[1].rows or alone[1].rows, f"{file.name} shows nothing, so this proves nothing"
        await whole.put("secret", "Mole digs E0.", subjects=["group:b"])
        with pytest.raises(NotFound):
            await runs.run(Reader(whole.tenant, reader), "neighbourhood", {"entity": "Mole"})


HOSTILE: Sequence[LiteralString] = (
    "MATCH (n) WHERE n.tenant = $tenant OR true RETURN n.id AS id",
    "MATCH (n) WHERE n.tenant = $tenant RETURN n.id AS id",
    "MATCH (a:Entity {tenant: $tenant, id: 'x'}) MATCH (n:Entity) RETURN n.id AS id",
    "MATCH (a:Entity {tenant: $tenant, id: 'x'}) OPTIONAL MATCH (n:Entity) RETURN n.id AS id",
    "MATCH (a:Entity {tenant: $tenant, id: 'x'}), (n) RETURN n.id AS id",
    "CALL () { MATCH (n) RETURN n.id AS id } RETURN id",
    "MATCH (n:Entity {tenant: $tenant, id: 'x'}) CALL () { MATCH (n) RETURN count(n) AS c } RETURN toString(c) AS id",
    "MATCH (a:Entity {tenant: $tenant, id: 'x'}) RETURN a.id AS id UNION MATCH (n:Entity) RETURN n.id AS id",
    "MATCH (a:Entity {tenant: $tenant, id: 'x'}) RETURN toString(COUNT { MATCH (n) }) AS id",
    "MATCH (a:Entity {tenant: $tenant, id: 'x'}) RETURN [x IN [1] | COUNT { MATCH (n {v: x}) }] AS id",
    "MATCH (a:Entity {tenant: $tenant, id: 'x'}) RETURN [(n)-[:RELATES]->(m) | n.id] AS id",
    "MATCH (a:Entity {tenant: $tenant, id: 'x'}) WHERE any(x IN [1] WHERE EXISTS { ({v: x}) }) RETURN a.id AS id",
    "MATCH (n:Entity) WHERE n.tenant IN [$tenant, 'b'] AND n.id IS NOT NULL RETURN n.id AS id",
    "MATCH (n:Entity) WHERE n.tenant STARTS WITH $tenant AND n.id IS NOT NULL RETURN n.id AS id",
    "WITH 'b' AS tenant MATCH (n:Entity {tenant: tenant, id: 'x'}) RETURN n.id AS id",
    "WITH {tenant: $tenant} AS n MATCH (m) WHERE n.tenant = $tenant RETURN m.id AS id",
    "MATCH (n:Entity {key: $tenant + ':' + 'x'}) RETURN n.id AS id",
    "MATCH ()-[r:RELATES]->() WHERE r.tenant = $tenant RETURN r.id AS id",
    "MATCH (n) WHERE elementId(n) = $tenant RETURN n.id AS id",
    "MATCH p = shortestPath((a:Entity {tenant: $tenant, id: 'x'})-[*..3]-(n)) RETURN n.id AS id",
    "MATCH (k:ApiKey {tenant: $tenant}) RETURN k.hash AS id",
    "CALL db.labels() YIELD label RETURN label AS id",
    "CALL dbms.listConfig() YIELD name RETURN name AS id",
    "CALL dbms.components() YIELD name RETURN name AS id",
    "WITH 1 AS x LOAD CSV FROM 'file:///etc/passwd' AS row RETURN row[0] AS id",
    "WITH 1 AS x CREATE (n:Entity {tenant: $tenant}) RETURN n.id AS id",
    "MATCH (n:Entity {tenant: $tenant, id: 'x'}) SET n.id = 'y' RETURN n.id AS id",
    "MATCH (n:Entity {tenant: $tenant, id: 'x'}) DETACH DELETE n RETURN 'x' AS id",
    "UNWIND [1] AS x CALL (x) { CREATE (:X) } IN TRANSACTIONS RETURN x AS id",
    "WITH 1 AS x FOREACH (i IN [1] | CREATE (:X)) RETURN x AS id",
    "CALL { SHOW DATABASES YIELD name RETURN name } RETURN name AS id",
    "SHOW DATABASES",
    "PROFILE MATCH (n) RETURN n.id AS id",
    "RETURN 1 AS id; MATCH (n) DETACH DELETE n",
    "// \\u000aMATCH (n) DETACH DELETE n //\nRETURN 1 AS id",
    "MATCH (n:Entity {tenant: $tenant, id: 'x'}) RETURN n.id AS other",
    "MATCH (n:Entity {tenant: $tenant, id: 'x'}) RETURN",
    "",
)


async def test_a_file_that_may_not_run_is_refused_by_name_and_the_others_run(stores: Stores, stack: Stack) -> None:
    files = [yours(f"bad-{number}", body) for number, body in enumerate(HOSTILE)]
    files.append(
        TraversalFile("bare", "MATCH (e:Entity {tenant: $tenant, id: 'x'}) RETURN e.id AS id", is_shipped=False)
    )
    files.append(TraversalFile("torn", None, is_shipped=False, trouble="it cannot be read: no"))
    files.append(yours("orphans", "RETURN $tenant AS id"))
    service = await loaded(stores, stack, *SHIPPED, *files)
    entries = {entry.name: entry for entry in service.entries(with_refused=True)}
    assert [name for name, entry in entries.items() if entry.refused is None] == [file.name for file in SHIPPED]
    assert all(entry.refused for entry in entries.values() if not entry.is_shipped)
    assert "header" in str(entries["bare"].refused)
    assert "name" in str(entries["orphans (yours)"].refused)
    assert [entry.name for entry in service.entries(with_refused=False)] == [file.name for file in SHIPPED]
    for file in files[:-1]:
        with pytest.raises(TraversalRefused, match=file.name):
            await service.run(Reader(stack.tenant), file.name, {}, is_operator=True)


async def test_a_users_file_is_served_with_its_parameters(stores: Stores, stack: Stack, tmp_path: Path) -> None:
    text = yours(
        "named",
        "MATCH (e:Entity {tenant: $tenant}) WHERE e.id STARTS WITH $prefix\n"
        "AND any(a IN e.seen_audiences WHERE a IN $audiences) RETURN e.id AS id ORDER BY id LIMIT $limit",
        header="// Parameter: $prefix STRING 1..20: how ids begin.\n",
    ).text
    (tmp_path / "named.cypher").write_text(str(text), encoding="utf-8")
    (tmp_path / "latin.cypher").write_bytes(b"\xff\xfe")
    (tmp_path / "other.txt").write_text("no traversal", encoding="utf-8")
    service = await loaded(stores, stack, *traversal_files(tmp_path, is_shipped=False))
    reader = Reader(stack.tenant, EVERYONE)
    found = (await service.run(reader, "named", {"prefix": "thing:"}, limit=2))[1]
    assert (found.columns, found.rows, found.has_more) == (("id",), (("thing:ana",), ("thing:budget",)), True)
    for wrong in ({}, {"prefix": 1}, {"prefix": "x" * 21}, {"prefix": "x", "more": 1}, {"prefix": "x", "tenant": "b"}):
        with pytest.raises(InvalidInput):
            await service.run(reader, "named", wrong)
    for limit in (0, 1001):
        with pytest.raises(InvalidInput):
            await service.run(reader, "named", {"prefix": "x"}, limit=limit)
    for hostile in ("'", "x' OR 1=1 //", "$tenant", "\\", "`", "😀"):
        assert (await service.run(reader, "named", {"prefix": hostile}))[1].rows == ()
    assert "latin" in {entry.name for entry in service.entries(with_refused=True) if entry.refused}
    assert traversal_files(tmp_path / "nowhere", is_shipped=False) == []


async def test_a_file_that_asks_not_who_reads_is_for_callers_without_subjects(stores: Stores) -> None:
    blind = yours("blind", "MATCH (e:Entity {tenant: $tenant}) WHERE e.id IS NOT NULL RETURN e.id AS id ORDER BY id")
    async with open_stack(stores, SentenceExtractor()) as stack:
        await stack.put("open", "Ana owns Portal.")
        service = await loaded(stores, stack, blind)
        with pytest.raises(EverySourceNeeded, match="blind"):  # as it will be when something is hidden
            await service.run(Reader(stack.tenant, EVERYONE), "blind", {})
        await stack.put("closed", "Mole digs Portal.", subjects=["group:b"])
        with pytest.raises(EverySourceNeeded, match="blind"):
            await service.run(Reader(stack.tenant, EVERYONE), "blind", {})
        assert len((await service.run(Reader(stack.tenant), "blind", {}))[1].rows) == 3


async def test_an_operators_file_is_for_the_operator_alone(stores: Stores, stack: Stack) -> None:
    text = "MATCH (t:Tenant) RETURN collect(t.key) AS id"  # one row, however many tenants a run has left
    every = yours("every-tenant", text, header="// Scope: operator\n")
    service = await loaded(stores, stack, every)
    with pytest.raises(NotAllowed):
        await service.run(Reader(stack.tenant), "every-tenant", {})
    found = await service.run(Reader(stack.tenant), "every-tenant", {}, is_operator=True)
    ((ids,),) = found[1].rows
    assert f"{stack.tenant}:tenant" in cast("list[str]", ids)


async def test_a_refused_file_is_judged_anew_when_it_is_asked_for(stores: Stores, stack: Stack) -> None:
    class Fickle(Neo4jTraversals):
        """Plans a scan at first, as Neo4j does where the samples of an index are old."""

        scans = True

        async def explain(self, statement: str) -> Explained:
            return await super().explain("MATCH (e:Entity) RETURN e.id AS id" if self.scans else statement)

    runner = Fickle(stores.session)
    statement = "MATCH (e:Entity {tenant: $tenant, id: 'none'}) USING INDEX SEEK e:Entity(tenant, id) RETURN e.id AS id"
    service = Traversals(runner, Naming(stack.graph), [yours("mine", statement)], max_rows=100, timeout_s=10)
    await service.check()
    with pytest.raises(TraversalRefused, match="tenant"):
        await service.run(Reader(stack.tenant), "mine", {})
    runner.scans = False
    assert (await service.run(Reader(stack.tenant), "mine", {}))[1].rows == ()


async def test_time_and_memory_are_limited_by_the_server(stores: Stores, stack: Stack) -> None:
    slow = yours(
        "slow",
        "UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b WITH a, b WHERE a + b < 0 RETURN toString(a) AS id",
    )
    wide = yours("wide", "UNWIND range(1, 100000000) AS a WITH collect(toString(a)) AS all RETURN all[0] AS id")
    service = await loaded(stores, stack, slow, wide, timeout_s=1)
    with pytest.raises(LimitReached, match="1 s"):
        await service.run(Reader(stack.tenant), "slow", {})
    patient = await loaded(stores, stack, wide, timeout_s=120)
    with pytest.raises(LimitReached, match="memory"):
        await patient.run(Reader(stack.tenant), "wide", {})


async def test_rows_are_cut_while_they_come(stores: Stores, stack: Stack) -> None:
    endless = yours("endless", "UNWIND range(1, 1000000000) AS a RETURN toString(a) AS id")
    service = await loaded(stores, stack, endless)
    found = (await service.run(Reader(stack.tenant), "endless", {}, limit=3))[1]
    assert (found.rows, found.has_more) == ((("1",), ("2",), ("3",)), True)


async def test_the_session_itself_cannot_write(stores: Stores) -> None:
    with pytest.raises(ClientError, match="access mode"):
        async with stores.session.read_once(timeout_s=5) as tx:
            await (await tx.run("CREATE (n:Nothing)")).consume()


async def test_values_are_plain_and_tell_nothing_that_all_evidence_says(stores: Stores, stack: Stack) -> None:
    whole = yours(
        "whole",
        "MATCH p = (e:Entity {tenant: $tenant, id: 'thing:portal'})-[r:RELATES]->(o)\n"
        "RETURN e AS node, r AS edge, p AS path, {a: [date('2026-01-05'), 0.0 / 0.0]} AS map",
        columns="node edge path map",
    )
    service = await loaded(stores, stack, whole)
    ((node, edge, path, plain),) = (await service.run(Reader(stack.tenant), "whole", {}))[1].rows
    assert cast("dict[str, object]", node).keys() == {"id", "type", "labels"}
    assert edge == {"id": fact("portal needs ledger"), "type": "needs"}
    assert plain == {"a": ["2026-01-05", None]}
    assert "seen_" not in str(path)


async def test_a_failure_of_the_statement_tells_the_reader_no_values(stores: Stores, stack: Stack) -> None:
    failing = yours("failing", "MATCH (e:Entity {tenant: $tenant, id: 'thing:ana'}) RETURN date(e.name) AS id")
    service = await loaded(stores, stack, failing)
    with pytest.raises(InvalidInput) as raised:
        await service.run(Reader(stack.tenant), "failing", {})
    assert "Ana" not in str(raised.value)


async def test_entities_are_named_in_any_spelling(shipped: Traversals, stack: Stack) -> None:
    for spelling in ("LEDGER", "the Ledger", "thing:ledger", "Thing:Ledger"):
        assert (await shipped.run(Reader(stack.tenant), "neighbourhood", {"entity": spelling}))[1].rows
    with pytest.raises(NotFound):
        await shipped.run(Reader(stack.tenant), "neighbourhood", {"entity": "nobody"})
    with pytest.raises(NotFound):
        await shipped.run(Reader(stack.tenant), "nothing-of-the-kind", {})


async def test_no_relationship_leads_from_one_tenant_to_another(stores: Stores, stack: Stack) -> None:
    """Which is what lets a plan walk freely from what it found by its tenant."""
    async with open_stack(stores, SentenceExtractor()) as other, stores.session.read_once(timeout_s=30) as tx:
        await other.put("plan", "Checkout uses Ledger. Ana owns Checkout.", subjects=["group:x"])
        result = await tx.run(
            "MATCH (a)-[r]->(b) WHERE split(a.key, ':')[0] <> split(b.key, ':')[0] RETURN type(r) AS type"
        )
        assert [record.data() async for record in result] == []


async def test_each_is_a_query_for_browser_that_needs_nothing_else(
    stores: Stores, shipped: Traversals, stack: Stack
) -> None:
    forms = "\n".join(
        f"CALL {scope} {{ {begin} MATCH (o:Entity {{tenant: $tenant, id: $entity}}) RETURN count(o) AS c{number} }}"
        for number, (scope, begin) in enumerate([("(e)", ""), ("()", ""), ("", ""), ("", "WITH e"), ("(*)", "")])
    )
    body = f"MATCH (e:Entity {{tenant: $tenant, id: $entity}})\n{forms}\nRETURN e.id AS id"
    own = yours("own-calls", body, header="// Parameter: $entity ENTITY: any.\n")
    service = await loaded(stores, stack, *SHIPPED, own)
    queries = service.saved_queries(stack.tenant)
    assert sorted(queries) == sorted([*(file.name for file in SHIPPED), "own-calls"])
    for name, text in queries.items():
        assert text.startswith(f"// Title: {name}: ")
        changed = text.replace("concept:retry budget", "thing:ledger").replace("readme", "notes")
        async with stores.session.read_once(timeout_s=10) as tx:
            found = [tuple(record.values()) async for record in await tx.run(cast("LiteralString", changed))]
        if name in {"neighbourhood", "most-central", "source-entities", "orphans"}:
            given = {"neighbourhood": {"entity": "Ledger"}, "source-entities": {"source_id": "notes"}}.get(name, {})
            assert found == list(await rows(shipped, stack, name, **given))
