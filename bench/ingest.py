"""Ingest of a real corpus through the whole platform, and its writes against bare calls of the stores, in one run.

    python -m bench.ingest --corpus 2wiki|podcast [--limit N]

Each record is a source, put through `Intake` as a client would, 32 requests in flight, into a new home. Printed are
passages a second until all are indexed, where the time went, and memory at each quarter. Then the same evidence and the
same points are read back and written again, slice by slice in turns: by our stores, and by bare calls.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, LiteralString, cast

import neo4j
import qdrant_edge as edge
from bench.support import (
    CORPORA,
    DATA,
    Document,
    Stages,
    bolt_driver,
    cpu_seconds,
    documents,
    machine,
    resident_mb,
    table,
)

from knotwork.adapters.models.packaged_embedder import PackagedEmbedder
from knotwork.adapters.models.pooled_chunker import PooledChunker
from knotwork.adapters.models.pooled_extractor import PackagedExtractor
from knotwork.adapters.neo4j.catalogue import Neo4jCatalogue
from knotwork.adapters.neo4j.graph_store import Neo4jGraphStore
from knotwork.adapters.neo4j.ledger import Neo4jLedger
from knotwork.adapters.qdrant.edge_requests import shard_config, sparse_vector
from knotwork.adapters.qdrant.edge_store import EdgeVectorStore
from knotwork.adapters.qdrant.mapping import BM25, DENSE, KEYWORD_FIELDS, as_vector, point_key, point_terms, to_payload
from knotwork.bootstrap import Platform, open_platform
from knotwork.config import Settings
from knotwork.domain.catalogue import Evidence, TenantSettings
from knotwork.domain.ids import entity_label, split_entity_id, storage_key
from knotwork.domain.model import SourceRef, TenantId
from knotwork.ports.catalogue import SourceWrite
from knotwork.ports.vector_store import Collection, Point, VectorStore, View
from knotwork.services.vector_sync import VectorSync

TENANT, AGAIN = TenantId("bench"), TenantId("again")
IN_FLIGHT = 32
POLL_S = 0.1
SLICE_SOURCES, SLICE_CHUNKS, SLICE_POINTS = 64, 128, 256  # as large as an ingest's
COLLECTIONS = (Collection.CHUNKS, Collection.ENTITIES, Collection.RELATIONSHIPS)
BARE = Path(__file__).parent / "bare"

STAGES = [
    (Neo4jLedger, "accept", "accept"),
    (Neo4jLedger, "texts", "read what was accepted"),
    (Neo4jLedger, "record", "record steps"),
    (PooledChunker, "chunk", "chunk"),
    (PackagedEmbedder, "embed", "embed"),
    (EdgeVectorStore, "upsert", "vector write"),
    (EdgeVectorStore, "fetch", "vector read"),
    (EdgeVectorStore, "flush", "flush"),
    (Neo4jCatalogue, "states", "catalogue read"),
    (Neo4jCatalogue, "chunk_with_embedding", "catalogue read"),
    (Neo4jCatalogue, "put_sources", "catalogue write"),
    (PackagedExtractor, "extract", "extraction"),
    (Neo4jGraphStore, "contributions", "graph read"),
    (Neo4jGraphStore, "readers", "graph read"),
    (Neo4jGraphStore, "pending_syncs", "graph read"),
    (Neo4jGraphStore, "put_evidence", "graph write"),
    (VectorSync, "follow", "vector sync, waiting"),
]


@dataclass(frozen=True)
class Writes:
    """What the ingest wrote, read back and cut into slices as large as those of an ingest."""

    sources: list[list[SourceWrite]]
    evidence: list[list[Evidence]]
    points: list[tuple[Collection, list[Point]]]


async def written(platform: Platform, limit: int | None = None) -> Writes:
    """What the tenant's sources left in the stores; with `limit`, about so many chunks, and points a collection."""
    sources: list[list[SourceWrite]] = []
    evidence: list[list[Evidence]] = []
    after: SourceRef | None = None
    while page := await platform.catalogue.sources(TENANT, view=View(), after=after, limit=SLICE_SOURCES):
        after = page[-1].ref
        states = await platform.catalogue.states(TENANT, [source.ref for source in page])
        sources.append([SourceWrite(state.source, None, state.chunks) for state in states.values()])
        chunks = [chunk.id for state in states.values() for chunk in state.chunks]
        for start in range(0, len(chunks), SLICE_CHUNKS):
            said = await platform.graph.evidence(TENANT, chunks[start : start + SLICE_CHUNKS])
            evidence.append(list(said.values()))
        if limit is not None and sum(map(len, evidence)) >= limit:
            break
    points = [(each, part) for each in COLLECTIONS async for part in stored_points(platform.vectors, each, limit)]
    return Writes(sources, evidence, points)


async def stored_points(
    vectors: VectorStore, collection: Collection, limit: int | None = None
) -> AsyncGenerator[list[Point]]:
    """The points of a collection by pages, with the text that keyword search reads of a chunk."""
    after: str | None = None
    given = 0
    while True:
        page, after = await vectors.scroll(
            TENANT, collection, view=View(), after=after, limit=SLICE_POINTS, with_vectors=True
        )
        yield [Point(one.id, one.vector or (), one.payload, _keyword_text(one.payload)) for one in page]
        given += len(page)
        if after is None or (limit is not None and given >= limit):
            return


def _keyword_text(payload: Mapping[str, Any]) -> str | None:
    if "text" not in payload:
        return None
    return "\n".join(part for part in (payload["title"], *payload["headings"], payload["text"]) if part)


async def ingest(platform: Platform, sources: Sequence[Document]) -> tuple[float, list[tuple[float, float]]]:
    """Put all sources and wait for the last; seconds, and memory before and at each quarter."""
    await platform.catalogue.put_tenant(TENANT, TenantSettings())
    turns = asyncio.Semaphore(IN_FLIGHT)

    async def put(document: Document) -> None:
        async with turns:
            await platform.intake.put(TENANT, *document)

    memory = [resident_mb()]
    started = time.perf_counter()
    putting = asyncio.gather(*(put(document) for document in sources))
    for quarter in (1, 2, 3, 4):
        while (counts := platform.intake.counts).done + counts.failed < len(sources) * quarter // 4:  # noqa: ASYNC110 - no event tells of a quarter
            await asyncio.sleep(POLL_S)
        memory.append(resident_mb())
    await putting
    if platform.intake.counts.failed:
        raise SystemExit(f"{platform.intake.counts.failed} sources failed; see the log")
    return time.perf_counter() - started, memory


class BareGraph:
    """The same nodes and edges by five `UNWIND ... MERGE` of given rows, under labels of their own."""

    def __init__(self, driver: neo4j.AsyncDriver) -> None:
        self._driver = driver
        self._statements: dict[str, LiteralString] = {
            path.stem: cast("LiteralString", path.read_text(encoding="utf-8")) for path in BARE.glob("*.cypher")
        }

    async def prepare(self, chunk_keys: Sequence[str]) -> None:
        for text in self._statements["schema"].split(";"):
            if text.strip():
                await self._driver.execute_query(text)
        await self._driver.execute_query(self._statements["chunks"], rows=[{"key": key} for key in chunk_keys])

    async def write(self, rows: dict[str, list[dict[str, object]]]) -> None:
        async def work(tx: neo4j.AsyncManagedTransaction) -> None:
            for name in ("entities", "mentions", "facts", "assertions", "relationships"):
                await (await tx.run(self._statements[name], rows=rows[name])).consume()

        async with self._driver.session() as session:
            await session.execute_write(work)


def bare_rows(evidence: Sequence[Evidence]) -> dict[str, list[dict[str, object]]]:
    """The rows of a slice, ready to be sent: distinct things with properties as ours, and an edge for each mention."""
    rows: dict[str, dict[str, dict[str, object]]] = {name: {} for name in ("entities", "facts", "relationships")}
    mentions: list[dict[str, object]] = []
    assertions: list[dict[str, object]] = []
    for one in evidence:
        chunk_key = storage_key(AGAIN, one.chunk_id)
        for entity in one.contribution.entities:
            key = storage_key(AGAIN, entity.id)
            type_, name_key = split_entity_id(entity.id)
            known = {"name": entity.name, "description": entity.description, "mentions": 1}
            seen = _seen(entity.description) | {"seen_names": [entity.name]}
            identity = {"tenant": AGAIN, "id": entity.id, "type": type_, "name_key": name_key}
            values = identity | known | seen
            rows["entities"][key] = {"key": key, "label": f"Bare{entity_label(type_)}", "values": values}
            said = {"name": entity.name, "surface_forms": list(entity.surface_forms)}
            mentions.append({"key": key, "chunk_key": chunk_key, "values": said | _said(entity.description)})
        for fact in one.contribution.relationships:
            key = storage_key(AGAIN, fact.id)
            rows["facts"][key] = {"key": key, "values": {"tenant": AGAIN, "id": fact.id}}
            identity = {"tenant": AGAIN, "id": fact.id, "type": fact.type}
            known = {"weight": 1, "description": fact.description}
            ends = {"from_key": storage_key(AGAIN, fact.from_id), "to_key": storage_key(AGAIN, fact.to_id)}
            rows["relationships"][key] = {"key": key, **ends, "values": identity | known | _seen(fact.description)}
            assertions.append({"key": key, "chunk_key": chunk_key, "values": _said(fact.description)})
    return {name: list(by_key.values()) for name, by_key in rows.items()} | {
        "mentions": mentions,
        "assertions": assertions,
    }


def _said(description: str) -> dict[str, object]:
    return {"description": description, "description_chars": len(description)}


def _seen(description: str) -> dict[str, object]:
    return {"seen_audiences": [f"{AGAIN}\n{'a' * 32}"], "seen_counts": [1], "seen_descriptions": [description]}


async def seconds(work: Callable[[], Awaitable[object]]) -> float:
    started = time.perf_counter()
    await work()
    return time.perf_counter() - started


async def compare_graph(platform: Platform, driver: neo4j.AsyncDriver, writes: Writes) -> float:
    """Write the evidence again, in turns; how many times as long ours took."""
    await platform.catalogue.put_tenant(AGAIN, TenantSettings())
    for part in writes.sources:
        await platform.catalogue.put_sources(AGAIN, part)
    bare = BareGraph(driver)
    await bare.prepare([storage_key(AGAIN, one.chunk_id) for part in writes.evidence for one in part])
    times = {"ours": 0.0, "bare": 0.0}
    counts = dict.fromkeys(("mentions", "assertions"), 0)
    for place, part in enumerate(writes.evidence):
        rows = bare_rows(part)
        counts = {name: count + len(rows[name]) for name, count in counts.items()}

        async def write_ours(part: Sequence[Evidence] = part) -> None:
            await platform.graph.put_evidence(AGAIN, part)

        async def write_bare(rows: dict[str, list[dict[str, object]]] = rows) -> None:
            await bare.write(rows)

        turns = [("ours", write_ours), ("bare", write_bare)]
        for name, write in turns if place % 2 else reversed(turns):
            times[name] += await seconds(write)
    edges = sum(counts.values())
    ratio = times["ours"] / times["bare"]
    table(
        f"graph writing, the same evidence in {len(writes.evidence)} slices: {counts['mentions']:,} mentions, "
        f"{counts['assertions']:,} assertions",
        ["", "seconds", "evidence/s", "times bare"],
        [
            ["bare UNWIND ... MERGE", times["bare"], edges / times["bare"], 1.0],
            ["ours, merged and locked", times["ours"], edges / times["ours"], ratio],
        ],
    )
    return ratio


class BareVectors:
    """A shard a collection, with the same indexes."""

    def __init__(self, folder: Path, dimension: int) -> None:
        self._dimension = dimension
        self._shards: dict[Collection, edge.EdgeShard] = {}
        for collection in (Collection.CHUNKS, Collection.ENTITIES, Collection.RELATIONSHIPS):
            place = folder / collection.value
            place.mkdir(parents=True)
            config = shard_config(dimension, keyword=collection is Collection.CHUNKS)
            shard = edge.EdgeShard.create(str(place), config)
            for name in KEYWORD_FIELDS:
                shard.update(edge.UpdateOperation.create_field_index(name, edge.KeywordIndexParams(enable_hnsw=False)))
            self._shards[collection] = shard

    def rows(self, points: Sequence[Point], collection: Collection) -> list[tuple[str, Any, dict[str, object]]]:
        """Keys, vectors and payloads, ready to be sent."""
        found: list[tuple[str, Any, dict[str, object]]] = []
        for point in points:
            dense = as_vector(point.vector, collection=collection.value, dimension=self._dimension)
            vectors: dict[str, Any] = {DENSE: dense}
            if terms := point_terms(point):
                vectors[BM25] = sparse_vector(terms)
            found.append((point_key(AGAIN, point.id), vectors, to_payload(AGAIN, point.id, point.payload)))
        return found

    def write(self, collection: Collection, rows: Iterable[tuple[str, Any, dict[str, object]]]) -> None:
        points = [edge.Point(key, vectors, payload) for key, vectors, payload in rows]
        self._shards[collection].update(edge.UpdateOperation.upsert_points(points))

    def close(self) -> None:
        for shard in self._shards.values():
            shard.close()


async def compare_vectors(folder: Path, dimension: int, writes: Writes) -> float:
    """Write the points again, in turns; how many times as long ours took."""
    ours, bare = EdgeVectorStore(folder / "ours"), BareVectors(folder / "bare", dimension)
    await ours.open()
    times = {"ours": 0.0, "bare": 0.0}
    try:
        await ours.prepare(model="bench", dimension=dimension)
        for place, (collection, points) in enumerate(writes.points):
            rows = bare.rows(points, collection)  # also warms the cache of words, as an ingest of many sources does

            async def write_ours(collection: Collection = collection, points: Sequence[Point] = points) -> None:
                await ours.upsert(AGAIN, collection, points)

            async def write_bare(
                collection: Collection = collection, rows: list[tuple[str, Any, dict[str, object]]] = rows
            ) -> None:
                await asyncio.to_thread(bare.write, collection, rows)

            turns = [("ours", write_ours), ("bare", write_bare)]
            for name, write in turns if place % 2 else reversed(turns):
                times[name] += await seconds(write)
    finally:
        await ours.close()
        bare.close()
    count = sum(len(points) for _, points in writes.points)
    ratio = times["ours"] / times["bare"]
    table(
        f"vector writing, the same {count:,} points in {len(writes.points)} slices",
        ["", "seconds", "points/s", "times bare"],
        [
            ["bare Edge, terms and payloads given", times["bare"], count / times["bare"], 1.0],
            ["ours", times["ours"], count / times["ours"], ratio],
        ],
    )
    return ratio


def show_ingest(elapsed: float, counts: Mapping[str, int], stages: Stages, cpu: Mapping[str, float]) -> None:
    table(
        "end to end",
        ["", "figure"],
        [
            *([name if name != "chunks" else "passages (chunks)", count] for name, count in counts.items()),
            ["seconds", elapsed],
            ["passages/s", counts["chunks"] / elapsed],
            *([f"processor seconds, {name}", spent] for name, spent in cpu.items()),
            ["processors kept busy", sum(cpu.values()) / elapsed],
        ],
    )
    awaited = sum(stages.seconds.values())
    rows = sorted(stages.seconds.items(), key=lambda row: -row[1])
    table(
        "where the time went: seconds awaited (batches overlap, so the sum is more than the clock)",
        ["stage", "seconds", "share %", "calls", "ms a call"],
        [
            [name, spent, 100 * spent / awaited, stages.calls[name], 1000 * spent / stages.calls[name]]
            for name, spent in rows
        ],
    )


def show_memory(memory: Sequence[tuple[float, float]], chunks: int) -> None:
    growth = memory[4][1] - memory[1][1]
    table(
        "memory of the service, MB (models and databases run in processes of their own; vectors are in this one)",
        ["sources done", "resident", "of that, not files"],
        [[f"{25 * place} %", round(all_), round(own)] for place, (all_, own) in enumerate(memory)],
    )
    kb = 1024 * growth / max(1, chunks * 3 / 4)
    print(f"growth from 25 % to 100 %: {growth:,.0f} MB, {kb:.1f} KB a passage")


async def main(corpus: str, data: Path, limit: int | None, home: Path | None) -> int:
    sources = documents(corpus, data, limit)
    print(f"bench.ingest --corpus {corpus}{f' --limit {limit}' if limit else ''}: {machine()}")
    folder = Path(tempfile.mkdtemp(prefix="bench-ingest-"))
    stages = Stages()
    try:
        async with open_platform(Settings(home=home or folder / "home")) as platform:
            before = cpu_seconds()
            with stages.timing(STAGES):
                elapsed, memory = await ingest(platform, sources)
            cpu = {name: spent - before[name] for name, spent in cpu_seconds().items()}
            counts = await platform.catalogue.counts(TENANT)
            show_ingest(elapsed, counts, stages, cpu)
            show_memory(memory, counts["chunks"])
            writes = await written(platform)
            async with bolt_driver(platform) as driver:
                graph_ratio = await compare_graph(platform, driver, writes)
        vector_ratio = await compare_vectors(folder / "again", platform.embedder.dimension, writes)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    worst = max(graph_ratio, vector_ratio)
    print(f"\nlargest ratio: {worst:.2f} (demand: at most 2, so that ours is at least half as fast)")
    print(f"at the end: {machine()}")
    return 0 if worst <= 2 else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", choices=sorted(CORPORA), default="2wiki")
    parser.add_argument("--limit", type=int, help="read only the first N records")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the corpora")
    parser.add_argument("--home", type=Path, help="a new home to keep, for bench.queries --home")
    arguments = parser.parse_args()
    raise SystemExit(asyncio.run(main(arguments.corpus, arguments.data, arguments.limit, arguments.home)))
