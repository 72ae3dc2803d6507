"""Our vector store against bare calls of Qdrant Edge, on the same points in one run.

    python -m bench.vectors --points 20000

Both sides hold the same points with the same indexes and ask for the same ten hits under the same filter; they take
turns, so that a busy machine is busy for both. Demand: a query of ours takes at most twice the time.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import qdrant_edge as edge

from knotwork.adapters.qdrant.edge_requests import edge_filter, shard_config, sparse_vector
from knotwork.adapters.qdrant.edge_store import EdgeVectorStore
from knotwork.adapters.qdrant.mapping import BM25, DENSE, KEYWORD_FIELDS, conditions, point_key, to_payload
from knotwork.domain.bm25 import document_terms, query_terms
from knotwork.domain.filters import parse_filter
from knotwork.domain.model import EVERYONE, TenantId
from knotwork.ports.vector_store import Collection, Point, View

DIMENSION = 384
TOP_K = 10
BATCH = 1000
TENANTS = [TenantId("acme"), TenantId("beta")]
ACME = TENANTS[0]
CHUNKS = Collection.CHUNKS


@dataclass(frozen=True)
class Case:
    name: str
    view: View
    keyword: bool = False


READER = (EVERYONE, "user:ana")
CASES = [
    Case("dense", View(READER)),
    Case("dense, one source", View(READER, parse_filter({"source_id": "doc-7.md"}))),
    Case("dense, year = 2020", View(READER, parse_filter({"year": 2020}))),
    Case("dense, year in 2010-2020", View(READER, parse_filter({"year": {"gte": 2010, "lte": 2020}}))),
    Case("keyword", View(READER), keyword=True),
    Case("keyword, year = 2020", View(READER, parse_filter({"year": 2020})), keyword=True),
]


class Corpus:
    """Unit vectors at random, and texts of about 110 words of a vocabulary with Zipf's frequencies."""

    def __init__(self, points: int, seed: int = 7) -> None:
        rng = np.random.default_rng(seed)
        vectors = rng.standard_normal((points, DIMENSION)).astype("float32")
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        words = rng.zipf(1.3, (points, 110)) % 30_000
        self.texts = [" ".join(f"w{word}" for word in row) for row in words]
        self.vectors: list[list[float]] = vectors.tolist()
        self.points = [(TENANTS[i % 5 == 0], self._point(i)) for i in range(points)]

    def _point(self, i: int) -> Point:
        payload: dict[str, object] = {
            "subjects": [EVERYONE] if i % 3 else ["group:other"],
            "source_type": "document",
            "source_id": f"doc-{i // 20}.md",
            "text": self.texts[i],
            "metadata": {"year": 2000 + i % 25},
        }
        return Point(f"document:doc-{i // 20}.md:{i}", self.vectors[i], payload, self.texts[i])


def bare_shard(folder: Path) -> edge.EdgeShard:
    folder.mkdir()
    shard = edge.EdgeShard.create(str(folder), shard_config(DIMENSION, keyword=True))
    for field in KEYWORD_FIELDS:
        shard.update(edge.UpdateOperation.create_field_index(field, edge.KeywordIndexParams(enable_hnsw=False)))
    shard.update(edge.UpdateOperation.create_field_index('metadata."year"', edge.FloatIndexParams(enable_hnsw=False)))
    return shard


def bare_query(shard: edge.EdgeShard, case: Case, vector: Sequence[float], text: str) -> list[edge.ScoredPoint]:
    visible = edge_filter(conditions(ACME, case.view))
    if case.keyword:
        query = edge.Query.Nearest(sparse_vector(query_terms(text)), using=BM25)
        params = edge.SearchParams(idf=edge.IdfParams(corpus=visible))
    else:
        query, params = edge.Query.Nearest(list(vector), using=DENSE), edge.SearchParams(exact=True)
    return shard.query(edge.QueryRequest(limit=TOP_K, query=query, filter=visible, with_payload=True, params=params))


async def our_query(store: EdgeVectorStore, case: Case, vector: Sequence[float], text: str) -> None:
    if case.keyword:
        await store.search_keyword(ACME, text, view=case.view, limit=TOP_K)
    else:
        await store.search_dense(ACME, CHUNKS, vector, view=case.view, limit=TOP_K)


async def write(corpus: Corpus, store: EdgeVectorStore, shard: edge.EdgeShard) -> None:
    ours = bare = tokenising = 0.0
    for start in range(0, len(corpus.points), BATCH):
        batch = corpus.points[start : start + BATCH]
        started = time.perf_counter()
        terms = [document_terms(point.keyword_text or "") for _, point in batch]
        tokenising += time.perf_counter() - started
        parts = [
            (
                point_key(tenant, point.id),
                corpus.vectors[start + i],
                sparse_vector(terms[i]),
                to_payload(tenant, point.id, point.payload),
            )
            for i, (tenant, point) in enumerate(batch)
        ]
        started = time.perf_counter()
        points = [edge.Point(key, {DENSE: dense, BM25: sparse}, payload) for key, dense, sparse, payload in parts]
        shard.update(edge.UpdateOperation.upsert_points(points))
        bare += time.perf_counter() - started
        started = time.perf_counter()
        for tenant in TENANTS:
            rows = [point for owner, point in batch if owner == tenant]
            await store.upsert(tenant, CHUNKS, rows)
        ours += time.perf_counter() - started
    count = len(corpus.points)
    print(f"\n{'upsert, points/s':32}{'bare':>12}{'ours':>12}{'time ratio':>12}")
    print(f"{'bare: terms, payloads given':32}{count / bare:12,.0f}{count / ours:12,.0f}{ours / bare:12.2f}")
    print(f"{'  of ours, tokenising for BM25':32}{'':12}{count / tokenising:12,.0f}{tokenising / bare:12.2f}")
    started = time.perf_counter()
    await asyncio.gather(*(store.flush() for _ in range(16)))
    print(f"{'flush asked for 16 times at once':32}{'':12}{(time.perf_counter() - started) * 1000:9.1f} ms")


async def timed(work: Callable[[], Awaitable[object]]) -> float:
    started = time.perf_counter()
    await work()
    return (time.perf_counter() - started) * 1000


async def ask(corpus: Corpus, store: EdgeVectorStore, shard: edge.EdgeShard, queries: int) -> float:
    """Print the table of queries; the largest ratio of medians."""
    rng = random.Random(11)
    print(f"\n{'query, ms':32}{'bare p50':>10}{'p95':>8}{'ours p50':>10}{'p95':>8}{'ratio':>8}")
    worst = 0.0
    for case in CASES:
        bare: list[float] = []
        ours: list[float] = []
        for i in range(queries + 5):
            vector = corpus.vectors[rng.randrange(len(corpus.vectors))]
            text = " ".join(rng.sample(rng.choice(corpus.texts).split(), 6))
            started = time.perf_counter()
            bare_query(shard, case, vector, text)
            one = (time.perf_counter() - started) * 1000
            other = await timed(lambda case=case, vector=vector, text=text: our_query(store, case, vector, text))
            if i >= 5:  # the first warm up
                bare.append(one)
                ours.append(other)
        middle = statistics.median(bare), statistics.median(ours)
        ratio = middle[1] / middle[0]
        worst = max(worst, ratio)
        ends = [sorted(times)[int(len(times) * 0.95)] for times in (bare, ours)]
        print(f"{case.name:32}{middle[0]:10.2f}{ends[0]:8.2f}{middle[1]:10.2f}{ends[1]:8.2f}{ratio:8.2f}")
    return worst


async def ask_together(corpus: Corpus, store: EdgeVectorStore, shard: edge.EdgeShard, callers: int) -> None:
    print(
        f"\n{f'{callers} callers at once, queries/s':32}{'bare':>10}{'ours':>10}{'ratio':>8}  (bare: one after another)"
    )
    for case in (CASES[0], CASES[4]):
        asked = [(corpus.vectors[i * 13], " ".join(corpus.texts[i].split()[:6])) for i in range(callers)]
        started = time.perf_counter()
        for vector, text in asked:
            bare_query(shard, case, vector, text)
        bare = time.perf_counter() - started
        started = time.perf_counter()
        await asyncio.gather(*(our_query(store, case, vector, text) for vector, text in asked))
        ours = time.perf_counter() - started
        print(f"{case.name:32}{callers / bare:10,.0f}{callers / ours:10,.0f}{ours / bare:8.2f}")


async def main(points: int, queries: int) -> int:
    folder = Path(tempfile.mkdtemp(prefix="bench-vectors-"))
    print(f"{points:,} points of {DIMENSION} dimensions, 4 in 5 of the tenant asked, 2 in 3 of them visible")
    corpus = Corpus(points)
    store = EdgeVectorStore(folder / "ours")
    try:
        await store.open()
        await store.prepare(model="bench", dimension=DIMENSION)
        shard = bare_shard(folder / "bare")
        await write(corpus, store, shard)
        worst = await ask(corpus, store, shard, queries)
        await ask_together(corpus, store, shard, 32)
        shard.close()
    finally:
        await store.close()
        shutil.rmtree(folder)
    print(f"\nlargest ratio of medians: {worst:.2f} (demand: at most 2)")
    return 0 if worst <= 2 else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=20_000)
    parser.add_argument("--queries", type=int, default=100)
    arguments = parser.parse_args()
    raise SystemExit(asyncio.run(main(arguments.points, arguments.queries)))
