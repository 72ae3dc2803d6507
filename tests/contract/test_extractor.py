"""What every extractor promises (knotwork.ports.models.Extractor)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator

import pytest

from knotwork.adapters.memory.models import ReplayExtractor
from knotwork.adapters.models.openai_extractor import OpenAIExtractor
from knotwork.adapters.models.openai_http import OpenAIEndpoint
from knotwork.adapters.models.pooled_extractor import PackagedExtractor
from knotwork.adapters.models.workers import WorkerPool
from knotwork.domain.model import ChunkId
from knotwork.ports.models import ExtractionInput, Extractor
from support.fake_model_server import FakeModelServer, serving

FACT = "Marie Curie founded the Radium Institute in Paris."
RECORDED = {
    "entities": [{"name": "Marie Curie", "type": "person", "description": ""}],
    "relationships": [],
}
STRANGE = [
    "",
    " ",
    "Hi.",
    "😀",
    "苹果公司在北京。",
    "nul \x00 byte",
    "\ud800 surrogate",
    "AND OR NOT ( [ ~ \\",
    "a" * 20_000,
]


def chunk(text: str, *, chunk_id: str = "c1", title: str = "", headings: tuple[str, ...] = ()) -> ExtractionInput:
    return ExtractionInput(ChunkId(chunk_id), text, title, headings)


class ExtractorContract:
    """A subclass adds the `extractor` fixture and nothing else."""

    async def test_it_is_an_extractor(self, extractor: Extractor) -> None:
        assert isinstance(extractor, Extractor)
        assert extractor.id

    async def test_a_fact_gives_its_entities_in_the_form_of_the_port(self, extractor: Extractor) -> None:
        raw = (await extractor.extract(chunk(FACT))).raw
        assert isinstance(raw, dict)
        assert "Marie Curie" in [entity["name"] for entity in raw["entities"]]
        assert isinstance(raw["relationships"], list)

    async def test_equal_input_gives_an_equal_answer(self, extractor: Extractor) -> None:
        passage = chunk(FACT, title="Radium", headings=("People", "Founders"))
        assert (await extractor.extract(passage)).raw == (await extractor.extract(passage)).raw

    async def test_the_id_of_the_chunk_is_never_read(self, extractor: Extractor) -> None:
        first, second = chunk(FACT, chunk_id="Ada Lovelace"), chunk(FACT, chunk_id="Alan Turing")
        assert (await extractor.extract(first)).raw == (await extractor.extract(second)).raw

    @pytest.mark.parametrize("text", STRANGE, ids=range(len(STRANGE)))
    async def test_any_text_is_answered(self, extractor: Extractor, text: str) -> None:
        extraction = await extractor.extract(chunk(text, title=text[:50], headings=(text[:50],)))
        assert isinstance(extraction.raw, dict)
        assert extraction.usage.input_tokens >= 0


class TestReplayExtractor(ExtractorContract):
    @pytest.fixture
    def extractor(self) -> ReplayExtractor:
        return ReplayExtractor({FACT: RECORDED})


class TestOpenAIExtractor(ExtractorContract):
    @pytest.fixture
    def server(self) -> Iterator[FakeModelServer]:
        with serving() as server:
            server.contents[FACT] = json.dumps(RECORDED)
            yield server

    @pytest.fixture
    async def extractor(self, server: FakeModelServer) -> AsyncIterator[OpenAIExtractor]:
        endpoint = OpenAIEndpoint(server.url)
        yield OpenAIExtractor(endpoint, model="any")
        await endpoint.close()


@pytest.fixture(scope="module")
async def packaged_extractor() -> AsyncIterator[PackagedExtractor]:
    pool = WorkerPool(1)
    yield await PackagedExtractor.start(pool)
    await pool.close()


class TestPackagedExtractor(ExtractorContract):
    @pytest.fixture
    def extractor(self, packaged_extractor: PackagedExtractor) -> PackagedExtractor:
        return packaged_extractor
