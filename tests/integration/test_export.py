"""Export, import and difference on the real stores."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import LiteralString, cast

import pytest

from knotwork.domain.catalogue import SourceChange
from knotwork.domain.cypher_script import cypher_script, literal
from knotwork.domain.export import from_line
from knotwork.domain.export_diff import diff_exports
from knotwork.domain.model import SourceRef
from knotwork.domain.retrieval import Mode
from knotwork.errors import ExportDamaged, InvalidInput
from knotwork.ports.vector_store import Collection, View
from knotwork.services.export import Exporter, packed, unpacked
from knotwork.services.restore import Importer
from knotwork.services.vector_sync import VectorSync
from support.stack import SentenceExtractor, Stack, Stores, TextChunker, open_stack

pytestmark = pytest.mark.neo4j

DOCUMENTS = {
    "a.md": "Checkout calls Ledger. It does so at each order.\n\nLedger feeds Reports. They are read on Mondays.",
    "b.md": "Checkout calls Ledger. Nobody knows how often.",
    "c/d e.md": "Paris borders Seine. Paris hosts Louvre.",
    "😀.md": "Wallet pays Ledger. Wallet is new.",
}


@pytest.fixture
async def stack(stores: Stores) -> AsyncGenerator[Stack]:
    async with open_stack(stores, SentenceExtractor()) as stack:
        yield stack


@pytest.fixture
async def other(stores: Stores) -> AsyncGenerator[Stack]:
    async with open_stack(stores, SentenceExtractor()) as stack:
        yield stack


def exporter_of(stack: Stack) -> Exporter:
    return Exporter(
        catalogue=stack.catalogue,
        graph=stack.graph,
        vectors=stack.vectors,
        embedder=stack.embedder,
        chunker=TextChunker(),
        hold=stack.intake.hold,
    )


def importer_of(stack: Stack) -> Importer:
    return Importer(
        catalogue=stack.catalogue,
        graph=stack.graph,
        vectors=stack.vectors,
        embedder=stack.embedder,
        chunker=TextChunker(),
        sync=VectorSync(stack.graph, stack.vectors, stack.embedder),
        exporter=exporter_of(stack),
        hold=stack.intake.hold,
    )


async def lines_of(stack: Stack) -> list[bytes]:
    return [line async for line in exporter_of(stack).export(stack.tenant)]


async def vectors_of(stack: Stack) -> list[bytes]:
    return [line async for line in exporter_of(stack).export_vectors(stack.tenant)]


async def stream(lines: Sequence[bytes]) -> AsyncIterator[bytes]:
    for line in lines:
        yield line


async def fill(stack: Stack, names: Sequence[str] = tuple(DOCUMENTS)) -> None:
    for name in names:
        await stack.put(name, DOCUMENTS[name], title=name, metadata={"year": 2020, "tags": ["x", "y"], "part": 0.5})


async def test_the_order_of_ingest_leaves_no_trace(stack: Stack, other: Stack) -> None:
    await fill(stack)
    await fill(other, tuple(reversed(DOCUMENTS)))
    exported = await lines_of(stack)
    assert exported == await lines_of(other)
    kinds = [from_line(line)["kind"] for line in exported]
    assert [kinds.count(kind) for kind in ("header", "source", "end")] == [1, 4, 1]
    assert min(kinds.count(kind) for kind in ("chunk", "entity", "relationship")) >= 4
    assert await exporter_of(stack).state(stack.tenant) == from_line(exported[-1])["sha256"]


async def test_edits_deletes_and_switches_on_the_way_leave_no_trace(stack: Stack, other: Stack) -> None:
    await fill(stack)
    await fill(other)
    await other.put("b.md", "Checkout likes Paris. Louvre feeds Checkout.", subjects=("group:sre",))
    await other.put("gone.md", "Ledger calls Checkout. Ghost haunts Ledger.")
    await other.finished(
        await other.intake.update(other.tenant, SourceRef("document", "a.md"), SourceChange(graph=False))
    )
    await other.delete("gone.md")
    await other.delete("c/d e.md")
    await fill(other)
    await other.finished(
        await other.intake.update(other.tenant, SourceRef("document", "a.md"), SourceChange(clear_graph=True))
    )
    assert await lines_of(other) == await lines_of(stack)


async def test_an_import_restores_byte_for_byte_and_asks_no_model(stack: Stack, other: Stack) -> None:
    await fill(stack)
    await stack.put("secret.md", "Vault hides Ledger.", subjects=("group:sre",), graph=True)
    lines, vectors = await lines_of(stack), await vectors_of(stack)
    result = await importer_of(other).load(other.tenant, stream(lines), stream(vectors))
    assert (result.embedded, result.other_chunker, other.embedder.calls) == (0, None, 0)
    assert isinstance(other.extractors.extractor, SentenceExtractor)
    assert other.extractors.extractor.calls == 0
    assert (result.sources, result.sha256) == (5, from_line(lines[-1])["sha256"])
    assert await lines_of(other) == lines
    assert await vectors_of(other) == vectors
    for collection in (Collection.CHUNKS, Collection.ENTITIES, Collection.RELATIONSHIPS):
        assert await other.points(collection) == await stack.points(collection)
    for mode in (Mode.SEMANTIC, Mode.KEYWORD, Mode.HYBRID, Mode.LOCAL):
        for subjects in (None, ("*",), ("*", "group:sre")):
            found = await stack.found("what calls Ledger", mode, subjects=subjects)
            assert await other.found("what calls Ledger", mode, subjects=subjects) == found
            assert found


async def test_what_was_imported_goes_on_as_if_it_had_been_indexed_here(stack: Stack, other: Stack) -> None:
    await fill(stack)
    await importer_of(other).load(other.tenant, stream(await lines_of(stack)), stream(await vectors_of(stack)))
    again = await other.put(
        "a.md", DOCUMENTS["a.md"], title="a.md", metadata={"year": 2020, "tags": ["x", "y"], "part": 0.5}
    )
    assert (again.written, again.batches, again.graph.extraction_calls, other.embedder.calls) == (0, 0, 0, 0)
    for one in (stack, other):
        await one.put("b.md", "Wallet likes Paris.")
        await one.delete("a.md")
    assert await lines_of(other) == await lines_of(stack)


async def test_without_its_vectors_an_import_embeds_again_and_is_the_same(stack: Stack, other: Stack) -> None:
    await fill(stack)
    lines = await lines_of(stack)
    result = await importer_of(other).load(other.tenant, stream(lines))
    assert result.embedded == other.embedder.texts > 0
    assert await lines_of(other) == lines
    assert await vectors_of(other) == await vectors_of(stack)


async def test_vectors_of_another_embedder_or_of_other_text_are_not_taken(stack: Stack, other: Stack) -> None:
    await fill(stack)
    lines, vectors = await lines_of(stack), await vectors_of(stack)
    foreign = [vectors[0].replace(b"hash/1", b"hash/9"), *vectors[1:]]
    result = await importer_of(other).load(other.tenant, stream(lines), stream(foreign))
    assert result.embedded > 0
    assert await vectors_of(other) == vectors


async def test_an_import_needs_an_empty_tenant(stack: Stack) -> None:
    await fill(stack, ["a.md"])
    with pytest.raises(InvalidInput, match="has sources already"):
        await importer_of(stack).load(stack.tenant, stream(await lines_of(stack)))


@pytest.mark.parametrize("damage", ["cut", "changed", "reordered"])
async def test_a_damaged_export_is_refused(stack: Stack, other: Stack, damage: str) -> None:
    await fill(stack)
    lines = await lines_of(stack)
    if damage == "cut":
        lines = lines[:-1]
    elif damage == "changed":
        lines = [line.replace(b'"weight":2', b'"weight":3') for line in lines]
    else:
        lines[-3], lines[-2] = lines[-2], lines[-3]
    with pytest.raises(ExportDamaged):
        await importer_of(other).load(other.tenant, stream(lines))


async def test_failed_chunks_stay_failed_through_an_import(stack: Stack, other: Stack) -> None:
    assert isinstance(stack.extractors.extractor, SentenceExtractor)
    stack.extractors.extractor.faults.fail("Checkout calls Ledger.")
    await stack.put("a.md", "Checkout calls Ledger.")
    lines = await lines_of(stack)
    await importer_of(other).load(other.tenant, stream(lines))
    assert await lines_of(other) == lines
    assert any(b'"state":"failed"' in line for line in lines)


async def test_a_difference_names_what_an_edit_did(stack: Stack) -> None:
    await fill(stack)
    before = await lines_of(stack)
    await stack.put("b.md", "Checkout likes Paris.", title="b.md", metadata={"year": 2021})
    told = list(diff_exports(before, await lines_of(stack)))
    assert told[0] == "source document:b.md: metadata changed, text changed, 1 chunks added, 1 chunks removed"
    assert "relationship thing:checkout|calls|thing:ledger: weight 2 → 1" in told
    assert "relationship thing:checkout|likes|thing:paris: added, weight 1" in told


async def test_runs_wait_while_an_export_is_taken(stack: Stack) -> None:
    await fill(stack, ["a.md"])
    export = exporter_of(stack).export(stack.tenant)
    await anext(export)
    run = await stack.intake.delete(stack.tenant, SourceRef("document", "a.md"))
    lines = [line async for line in export]
    assert any(b"Checkout calls Ledger" in line for line in lines)
    await stack.finished(run)
    assert await stack.catalogue.counts(stack.tenant) == {"sources": 0, "chunks": 0, "entities": 0, "relationships": 0}


async def test_a_script_builds_the_same_graph_in_a_database(stack: Stack, stores: Stores) -> None:
    await fill(stack)
    driver = stores.session._driver
    async with driver.session() as session, await session.begin_transaction() as tx:
        for statement in cypher_script(await lines_of(stack)):
            if statement.startswith("MERGE"):
                mine = statement.replace("{id: '", f"{{id: '{stack.tenant} ")  # apart from what other tests store
                await (await tx.run(cast("LiteralString", mine))).consume()
        result = await tx.run(
            "MATCH (a:Entity)-[r:RELATES]->(b:Entity) WHERE r.id STARTS WITH $tenant "
            "RETURN r.type AS type, r.weight AS weight, a.name AS from_name, b.name AS to_name ORDER BY r.id",
            tenant=f"{stack.tenant} ",
        )
        found = [tuple(record.values()) async for record in result]
        await tx.rollback()
    exported = await stack.exported()
    names = {entity.id: entity.name for entity in exported.entities}
    assert found == [(one.type, one.weight, names[one.from_id], names[one.to_id]) for one in exported.relationships]


async def test_the_database_reads_any_text_from_its_literal(stores: Stores) -> None:
    texts = [
        "\\u0041",
        "\\\\u0041\\",
        "it's",
        "a\nb\r\tc",
        "`;//*",
        "\\'",
        "\u2028😀é",
        "\\n",
        "u\\",
        "$tenant {}",
        '"',
    ]
    driver = stores.session._driver
    async with driver.session() as session:
        for text in texts:
            record = await (await session.run(cast("LiteralString", f"RETURN {literal(text)} AS text"))).single()
            assert record is not None
            assert record["text"] == text


async def test_vectors_survive_packing_and_the_store(stack: Stack) -> None:
    await fill(stack, ["a.md"])
    page, _ = await stack.vectors.scroll(
        stack.tenant, Collection.CHUNKS, view=View(), after=None, limit=1, with_vectors=True
    )
    assert page[0].vector is not None
    assert unpacked(packed(page[0].vector)) == list(page[0].vector)
