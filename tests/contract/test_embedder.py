"""What every embedder promises (knotwork.ports.models.Embedder)."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Iterator
from operator import mul

import pytest

from knotwork.adapters.memory.models import HashEmbedder
from knotwork.adapters.models.openai_embedder import OpenAIEmbedder
from knotwork.adapters.models.openai_http import OpenAIEndpoint
from knotwork.adapters.models.packaged_embedder import PackagedEmbedder
from knotwork.adapters.models.workers import WorkerPool
from knotwork.ports.models import Embedder
from support.fake_model_server import FakeModelServer, serving

BUDGET = "The retry budget limits how often a client may call again."
TEXTS = [
    BUDGET,
    "重试预算限制客户端的调用次数。",
    "Hi.",
    "",
    " \n\t ",
    "😀",
    "\ud800 a lone surrogate",
    "nul \x00 byte",
    "a" * 300_000,
    "queue " * 5_000,
]


class EmbedderContract:
    """A subclass adds the `embedder` fixture and nothing else."""

    async def test_it_is_an_embedder(self, embedder: Embedder) -> None:
        assert isinstance(embedder, Embedder)
        assert embedder.id
        assert embedder.dimension > 0

    async def test_no_text_gives_no_vector(self, embedder: Embedder) -> None:
        assert list((await embedder.embed([])).vectors) == []

    async def test_any_text_gives_one_vector_of_length_one(self, embedder: Embedder) -> None:
        vectors = (await embedder.embed(TEXTS)).vectors
        assert [len(vector) for vector in vectors] == [embedder.dimension] * len(TEXTS)
        for vector in vectors:
            assert math.hypot(*vector) == pytest.approx(1, abs=1e-5)

    async def test_a_vector_does_not_depend_on_what_stands_beside_the_text(self, embedder: Embedder) -> None:
        together = (await embedder.embed(TEXTS)).vectors
        alone = [(await embedder.embed([text])).vectors[0] for text in TEXTS]
        assert [list(vector) for vector in together] == [list(vector) for vector in alone]

    async def test_vectors_come_in_the_order_of_the_texts(self, embedder: Embedder) -> None:
        texts = [f"Team {number} owns queue {number}." for number in range(70)]
        forth = (await embedder.embed(texts)).vectors
        back = (await embedder.embed(texts[::-1])).vectors
        assert [list(vector) for vector in forth] == [list(vector) for vector in back[::-1]]
        assert len({tuple(vector) for vector in forth}) == len(texts)

    async def test_a_question_is_nearest_to_the_passage_that_shares_its_words(self, embedder: Embedder) -> None:
        passages = (await embedder.embed(["Cats sleep on the warm roof.", BUDGET, "Rain fell all week."])).vectors
        (question,) = (await embedder.embed(["the retry budget of a client"], purpose="query")).vectors
        scores = [sum(map(mul, question, passage)) for passage in passages]
        assert scores.index(max(scores)) == 1

    async def test_usage_is_never_negative(self, embedder: Embedder) -> None:
        usage = (await embedder.embed(TEXTS)).usage
        assert usage.input_tokens >= 0
        assert usage.output_tokens >= 0


class TestHashEmbedder(EmbedderContract):
    @pytest.fixture(params=[2, 64, 1536])
    def embedder(self, request: pytest.FixtureRequest) -> HashEmbedder:
        return HashEmbedder(request.param)


@pytest.fixture(scope="module")
async def packaged_embedder() -> AsyncIterator[PackagedEmbedder]:
    pool = WorkerPool(1)
    embedder = PackagedEmbedder(pool)
    yield embedder
    await embedder.close()
    await pool.close()


class TestPackagedEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self, packaged_embedder: PackagedEmbedder) -> PackagedEmbedder:
        return packaged_embedder


class TestOpenAIEmbedder(EmbedderContract):
    @pytest.fixture
    def server(self) -> Iterator[FakeModelServer]:
        with serving() as server:
            yield server

    @pytest.fixture
    async def embedder(self, server: FakeModelServer) -> AsyncIterator[OpenAIEmbedder]:
        server.dimension = 64
        endpoint = OpenAIEndpoint(server.url)
        yield OpenAIEmbedder(endpoint, model="any", dimension=64, batch=16)
        await endpoint.close()
