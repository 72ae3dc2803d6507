"""Verify and repair on the real stores: each kind of damage is planted, named, mended, and gone."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from typing import LiteralString

import pytest
import qdrant_edge as edge

from knotwork.adapters.neo4j.audit import Neo4jAudit
from knotwork.adapters.qdrant.mapping import point_key
from knotwork.domain.catalogue import AcceptedRun, Run, RunKind
from knotwork.domain.damage import DamageKind
from knotwork.domain.ids import chunk_id, storage_key
from knotwork.domain.model import ChunkId, ParsedText, Source, SourceRef
from knotwork.ports.vector_store import Collection, Point
from knotwork.run_ids import new_run_id
from knotwork.services.export import Exporter
from knotwork.services.repair import Repairer, RepairReport
from knotwork.services.vector_sync import VectorSync
from knotwork.services.verify import Verifier, VerifyReport
from support.stack import SentenceExtractor, Stack, Stores, TextChunker, open_stack

pytestmark = pytest.mark.neo4j

LEDGER, FACT = "thing:ledger", "thing:checkout|calls|thing:ledger"
FIRST = "Checkout calls Ledger. It does so at each order of the shop, and the shop has many of them a day."
SECOND = "Ledger feeds Reports. They are read on Mondays by those who keep the books of the shop and the house."


@dataclass(frozen=True, slots=True)
class Planted:
    """A tenant with two sources, and ways to damage what is stored of it."""

    stack: Stack
    stores: Stores

    @property
    def chunk(self) -> ChunkId:
        return chunk_id(SourceRef("document", "a.md"), FIRST, 0)

    def key(self, id_: str) -> str:
        return storage_key(self.stack.tenant, id_)

    async def cypher(self, text: LiteralString, **parameters: object) -> None:
        async with self.stores.session._driver.session() as session:
            summary = await (await session.run(text, parameters)).consume()
        assert summary.counters.contains_updates, "the damage was not planted"

    async def on_chunk(self, text: LiteralString) -> None:
        await self.cypher(f"MATCH (c:Chunk {{key: $key}}) {text}", key=self.key(self.chunk))

    async def on_entity(self, text: LiteralString) -> None:
        await self.cypher(f"MATCH (e:Entity {{key: $key}}) {text}", key=self.key(LEDGER))

    async def on_fact(self, text: LiteralString) -> None:
        await self.cypher(
            f"MATCH (f:Fact {{key: $key}}) MATCH ()-[r:RELATES {{key: $key}}]->() {text}", key=self.key(FACT)
        )

    async def on_source(self, text: LiteralString) -> None:
        await self.cypher(
            f"MATCH (s:Source {{tenant: $tenant, type: 'document', id: 'a.md'}}) {text}", tenant=self.stack.tenant
        )

    async def payload(self, **changed: object) -> None:
        await self.stack.vectors.set_payload(self.stack.tenant, Collection.CHUNKS, [(self.chunk, changed)])

    async def exported(self) -> list[bytes]:
        stack = self.stack
        exporter = Exporter(
            catalogue=stack.catalogue,
            graph=stack.graph,
            vectors=stack.vectors,
            embedder=stack.embedder,
            chunker=TextChunker(),
            hold=stack.intake.hold,
        )
        return [line async for line in exporter.export(stack.tenant)]

    async def points(self) -> list[dict[str, dict[str, object]]]:
        """Every payload, less the fields that say nothing: Qdrant keeps a null that comes with a point, sets none."""
        return [
            {
                id_: {name: value for name, value in payload.items() if value is not None}
                for id_, payload in (await self.stack.points(collection)).items()
            }
            for collection in Collection
        ]


def verifier_of(stack: Stack, stores: Stores) -> Verifier:
    return Verifier(
        catalogue=stack.catalogue,
        graph=stack.graph,
        audit=Neo4jAudit(stores.session),
        vectors=stack.vectors,
        embedder=stack.embedder,
        sync=VectorSync(stack.graph, stack.vectors, stack.embedder),
        hold=stack.intake.hold,
    )


async def verified(stack: Stack, stores: Stores) -> VerifyReport:
    return await verifier_of(stack, stores).verify(stack.tenant)


async def repaired(stack: Stack, stores: Stores) -> RepairReport:
    repairer = Repairer(
        catalogue=stack.catalogue,
        audit=Neo4jAudit(stores.session),
        vectors=stack.vectors,
        embedder=stack.embedder,
        sync=VectorSync(stack.graph, stack.vectors, stack.embedder),
        intake=stack.intake,
        verifier=verifier_of(stack, stores),
    )
    return await repairer.repair(stack.tenant)


async def fill(stack: Stack) -> None:
    await stack.put("a.md", f"{FIRST}\n\n{SECOND}", title="A", metadata={"year": 2020, "tags": ["x"], "part": 0.5})
    await stack.put("b.md", "Checkout calls Ledger. Wallet pays Ledger.", title="B", subjects=("group:sre",))
    await stack.put("c.md", "", title="Empty")


@pytest.fixture
async def planted(stores: Stores) -> AsyncGenerator[Planted]:
    async with open_stack(stores, SentenceExtractor()) as stack:
        await fill(stack)
        yield Planted(stack, stores)


async def delete_point(planted: Planted) -> None:
    await planted.stack.vectors.delete(planted.stack.tenant, Collection.CHUNKS, [planted.chunk])


async def delete_entity_points(planted: Planted) -> None:
    await planted.stack.vectors.delete(planted.stack.tenant, Collection.ENTITIES, [LEDGER])
    await planted.stack.vectors.delete(planted.stack.tenant, Collection.RELATIONSHIPS, [FACT])


async def add_points(planted: Planted) -> None:
    ghost = chunk_id(SourceRef("document", "ghost.md"), "Boo", 0)
    for collection, id_ in [
        (Collection.CHUNKS, ghost),
        (Collection.ENTITIES, "thing:ghost"),
        (Collection.RELATIONSHIPS, "thing:ghost|haunts|thing:ledger"),
    ]:
        point = Point(id_, [1.0] * planted.stack.embedder.dimension, {"subjects": ["*"], "text": "Boo"})
        await planted.stack.vectors.upsert(planted.stack.tenant, collection, [point])


async def stale_entity_point(planted: Planted) -> None:
    await planted.stack.vectors.set_payload(
        planted.stack.tenant, Collection.ENTITIES, [(LEDGER, {"subjects": ["user:eve"]})]
    )


async def lose_point_to_no_tenant(planted: Planted) -> None:
    key = point_key(planted.stack.tenant, planted.chunk)
    operation = edge.UpdateOperation.set_payload([key], {"tenant": "nobody"})
    shard = planted.stack.vectors._shards[Collection.CHUNKS]
    await shard.write("plant", lambda engine: engine.update(operation))


K = DamageKind
Plant = Callable[[Planted], Awaitable[None]]
DAMAGES: dict[str, tuple[Plant, set[DamageKind]]] = {
    "chunk point deleted": (delete_point, {K.MISSING_POINT}),
    "graph points deleted": (delete_entity_points, {K.MISSING_POINT}),
    "points added": (add_points, {K.EXTRA_POINT}),
    "point marked as nobody's": (lose_point_to_no_tenant, {K.MISSING_POINT}),
    "position in payload": (lambda p: p.payload(start=7, index=9), {K.STALE_PAYLOAD}),
    "readers in payload": (lambda p: p.payload(subjects=["*", "user:eve"]), {K.STALE_PAYLOAD}),
    "text in payload": (lambda p: p.payload(text="Somebody else's"), {K.STALE_PAYLOAD}),
    "embedding key in payload": (lambda p: p.payload(embedding_key="0"), {K.STALE_PAYLOAD}),
    "metadata in payload": (lambda p: p.payload(metadata={"year": 1999}), {K.STALE_PAYLOAD}),
    "readers of an entity's point": (stale_entity_point, {K.STALE_PAYLOAD}),
    "chunk node deleted": (
        lambda p: p.on_chunk("DETACH DELETE c"),
        {K.MISSING_CHUNK, K.WRONG_WEIGHT, K.WITHOUT_EVIDENCE},
    ),
    "entity node deleted": (
        lambda p: p.on_entity("DETACH DELETE e"),
        {K.MISSING_ENTITY, K.MISSING_RELATIONSHIP, K.EXTRA_POINT},
    ),
    "fact node deleted": (lambda p: p.on_fact("DETACH DELETE f"), {K.MISSING_FACT, K.WITHOUT_EVIDENCE}),
    "relationship deleted": (lambda p: p.on_fact("DELETE r"), {K.MISSING_RELATIONSHIP, K.EXTRA_POINT}),
    "relationship turned": (
        lambda p: p.on_fact(
            "MATCH (a)-[r]->(b) WITH a, b, r, properties(r) AS said DELETE r CREATE (b)-[n:RELATES]->(a) SET n = said"
        ),
        {K.WRONG_VIEW},
    ),
    "weight": (lambda p: p.on_fact("SET r.weight = 9"), {K.WRONG_WEIGHT}),
    "mentions": (lambda p: p.on_entity("SET e.mentions = 9"), {K.WRONG_WEIGHT}),
    "name": (lambda p: p.on_entity("SET e.name = 'Eve'"), {K.WRONG_VIEW}),
    "counts of audiences": (lambda p: p.on_entity("SET e.seen_counts = [2, 3]"), {K.WRONG_VIEW}),
    "descriptions of audiences": (lambda p: p.on_fact("SET r.seen_descriptions = ['', '']"), {K.WRONG_VIEW}),
    "lists of unequal length": (lambda p: p.on_entity("SET e.seen_names = ['Eve']"), {K.WRONG_VIEW}),
    "no lists": (lambda p: p.on_entity("SET e.seen_audiences = []"), {K.WRONG_VIEW, K.STALE_PAYLOAD}),
    "evidence": (
        lambda p: p.on_chunk("MATCH (c)-[m:MENTIONS]->() SET m.name = 'Eve'"),
        {K.CHANGED_EVIDENCE, K.WRONG_VIEW},
    ),
    "evidence deleted": (
        lambda p: p.on_chunk("MATCH (c)-[m:ASSERTS]->() DELETE m"),
        {K.MISSING_FACT, K.WRONG_WEIGHT},
    ),
    "chunk without source": (
        lambda p: p.on_chunk("MATCH (c)<-[h:HAS_CHUNK]-() DELETE h"),
        {K.DANGLING_PROVENANCE, K.MISSING_CHUNK},
    ),
    "readers of a chunk": (
        lambda p: p.on_chunk("MATCH (a:Audience {tenant: c.tenant}) WHERE a.key <> c.audience SET c.audience = a.key"),
        {K.WRONG_READERS, K.WRONG_VIEW},
    ),
    "entity without evidence": (
        lambda p: p.cypher(
            "CREATE (e:Entity {key: $key, tenant: $tenant, id: 'thing:ghost', type: 'thing', name_key: 'ghost', "
            "name: 'Ghost', description: '', mentions: 0, seen_audiences: []})",
            key=p.key("thing:ghost"),
            tenant=p.stack.tenant,
        ),
        {K.WITHOUT_EVIDENCE, K.MISSING_POINT},
    ),
    "span": (lambda p: p.on_chunk("SET c.start = 3"), {K.SPAN_MISMATCH}),
    "embedding key": (lambda p: p.on_chunk("SET c.embedding_key = '0'"), {K.SPAN_MISMATCH}),
    "text deleted": (lambda p: p.on_source("MATCH (s)-[:HAS_TEXT]->(t) DETACH DELETE t"), {K.MISSING_TEXT}),
    "text damaged": (lambda p: p.on_source("MATCH (s)-[:HAS_TEXT]->(t) SET t.sha256 = '0'"), {K.MISSING_TEXT}),
    "text of nobody": (
        lambda p: p.cypher(
            "CREATE (:SourceText {key: $key, tenant: $tenant, part: 0})", key=p.key("lost#0"), tenant=p.stack.tenant
        ),
        {K.ORPHAN_TEXT},
    ),
    "tenant of an entity": (lambda p: p.on_entity("SET e.tenant = 'other'"), {K.FOREIGN_TENANT}),
    "tenant of a chunk": (lambda p: p.on_chunk("SET c.tenant = 'other'"), {K.FOREIGN_TENANT}),
    "tenant of a source": (lambda p: p.on_source("SET s.tenant = 'other'"), {K.FOREIGN_TENANT}),
    "tenant of a relationship": (lambda p: p.on_fact("SET r.tenant = 'other'"), {K.FOREIGN_TENANT}),
}


async def test_undamaged_stores_agree(planted: Planted) -> None:
    assert await verified(planted.stack, planted.stores) == VerifyReport({}, ())


@pytest.mark.parametrize("name", DAMAGES)
async def test_a_damage_is_named_mended_and_gone(planted: Planted, name: str) -> None:
    plant, kinds = DAMAGES[name]
    exported, points = await planted.exported(), await planted.points()
    await plant(planted)
    report = await verified(planted.stack, planted.stores)
    assert set(report.counts) == kinds, report
    repair = await repaired(planted.stack, planted.stores)
    assert repair.left.is_clean, repair
    assert await planted.exported() == exported
    assert await planted.points() == points


async def test_a_source_that_went_without_its_chunks_takes_them_along(planted: Planted) -> None:
    await planted.on_source("DETACH DELETE s")
    report = await verified(planted.stack, planted.stores)
    assert {K.DANGLING_PROVENANCE, K.ORPHAN_TEXT} <= set(report.counts)
    assert (await repaired(planted.stack, planted.stores)).left.is_clean
    assert [entity.id for entity in (await planted.stack.exported()).entities] == [
        "thing:checkout",
        "thing:ledger",
        "thing:wallet",
    ]


async def test_another_tenants_point_in_ones_own_view_is_found_and_both_are_mended(
    planted: Planted, stores: Stores
) -> None:
    async with open_stack(stores, SentenceExtractor()) as other:
        await fill(other)
        key = point_key(other.tenant, planted.chunk)
        operation = edge.UpdateOperation.set_payload([key], {"tenant": planted.stack.tenant})
        await planted.stack.vectors._shards[Collection.CHUNKS].write("plant", lambda engine: engine.update(operation))
        assert set((await verified(planted.stack, stores)).counts) == {K.FOREIGN_TENANT}
        assert (await repaired(planted.stack, stores)).left.is_clean
        assert set((await verified(other, stores)).counts) == {K.MISSING_POINT}
        assert (await repaired(other, stores)).left.is_clean


async def test_another_tenants_node_in_ones_own_view_is_found(planted: Planted, stores: Stores) -> None:
    async with open_stack(stores, SentenceExtractor()) as other:
        await fill(other)
        await planted.cypher(
            "MATCH (e:Entity {key: $key}) SET e.tenant = $tenant",
            key=storage_key(other.tenant, LEDGER),
            tenant=planted.stack.tenant,
        )
        assert K.FOREIGN_TENANT in (await verified(planted.stack, stores)).counts
        assert (await repaired(planted.stack, stores)).left.is_clean
        assert (await verified(other, stores)).is_clean


async def test_a_text_that_cannot_be_proved_is_left_and_named(planted: Planted) -> None:
    await planted.stack.put("d.md", "\t\t Tabs before the text are in no chunk.", title="D")
    await planted.cypher(
        "MATCH (s:Source {tenant: $tenant, type: 'document', id: 'd.md'})-[:HAS_TEXT]->(t) DETACH DELETE t",
        tenant=planted.stack.tenant,
    )
    left = (await repaired(planted.stack, planted.stores)).left
    assert [(one.kind, one.id) for one in left.examples] == [(K.MISSING_TEXT, "document:d.md")]


async def test_many_damages_at_once_are_all_mended(planted: Planted) -> None:
    exported, points = await planted.exported(), await planted.points()
    for name in ("weight", "mentions", "readers of an entity's point", "chunk node deleted", "points added"):
        await DAMAGES[name][0](planted)
    await planted.cypher("MATCH (e:Entity {key: $key}) DETACH DELETE e", key=planted.key("thing:reports"))
    await DAMAGES["text of nobody"][0](planted)
    report = await verified(planted.stack, planted.stores)
    planned = {K.WRONG_WEIGHT, K.STALE_PAYLOAD, K.MISSING_CHUNK, K.EXTRA_POINT, K.MISSING_ENTITY, K.ORPHAN_TEXT}
    assert planned <= set(report.counts), report
    assert (await repaired(planted.stack, planted.stores)).left.is_clean
    assert await planted.exported() == exported
    assert await planted.points() == points


async def found(planted: Planted, text: str) -> set[tuple[str, str]]:
    findings = verifier_of(planted.stack, planted.stores).gone(planted.stack.tenant, text)
    return {(" ".join(one.where.split()[:2]), one.field) async for one in findings}


async def test_a_text_is_found_wherever_it_stands(planted: Planted) -> None:
    places = await found(planted, "LEDGER")
    assert {
        ("Neo4j Source", "text"),
        ("Neo4j Chunk", "preview"),
        ("Neo4j Chunk", "MENTIONS name"),
        ("Neo4j Chunk", "ASSERTS description"),
        ("Neo4j Entity", "name"),
        ("Neo4j Entity", "id"),
        ("Neo4j Entity", "RELATES description"),
        ("Neo4j Fact", "id"),
        ("Qdrant chunks", "text"),
        ("Qdrant entities", "id"),
        ("Qdrant relationships", "id"),
    } <= places


async def test_what_a_deleted_document_said_is_found_nowhere(planted: Planted) -> None:
    await planted.stack.put("x.md", "Xaver has Diabetes. Café Über alles.", metadata={"note": "the Xaver file"})
    for text in ("diabetes", "cafe\u0301 über", "XAVER"):
        assert await found(planted, text), text
    await planted.stack.delete("x.md")
    for text in ("diabetes", "cafe\u0301 über", "XAVER"):
        assert await found(planted, text) == set(), text


async def test_a_text_that_waits_in_the_ledger_is_found(planted: Planted) -> None:
    source = Source(SourceRef("document", "w.md"), "Waiting", "0")
    run = Run(new_run_id(), RunKind.INDEX, source.ref, source=source)
    parsed = ParsedText("A secret of Xanthippe.", "Waiting")
    await planted.stack.ledger.accept(planted.stack.tenant, [AcceptedRun(run, parsed)])
    assert await found(planted, "xanthippe") == {("Neo4j IndexRun", "text")}
