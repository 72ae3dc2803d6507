"""FastembedEmbedder with a stand-in for the vendor's module: its models cannot be had without a network."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from types import ModuleType

import numpy as np
import pytest

from knotwork.adapters.models.fastembed_embedder import FastembedEmbedder
from knotwork.errors import ModelFailed, ModelRefused, SetupFailed


class TextEmbedding:
    """The part of fastembed.TextEmbedding that the adapter uses."""

    loaded: list[str]  # set by the fixture

    def __init__(self, *, model_name: str) -> None:
        if model_name == "unreachable":
            raise ValueError("could not load it from any source")
        self.loaded.append(model_name)

    @staticmethod
    def list_supported_models() -> list[dict[str, str]]:
        return [{"model": "small"}, {"model": "unreachable"}]

    def passage_embed(self, texts: Sequence[str]) -> Iterator[np.ndarray]:
        return (np.array([3.0 * len(text), 4.0 * len(text)], dtype=np.float32) for text in texts)

    def query_embed(self, texts: Sequence[str]) -> Iterator[np.ndarray]:
        return (np.array([4.0, 3.0], dtype=np.float32) for _ in texts)


@pytest.fixture
def vendor(monkeypatch: pytest.MonkeyPatch) -> type[TextEmbedding]:
    module = ModuleType("fastembed")
    TextEmbedding.loaded = []
    monkeypatch.setattr(module, "TextEmbedding", TextEmbedding, raising=False)
    monkeypatch.setitem(sys.modules, "fastembed", module)
    return TextEmbedding


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastembed", None)
    with pytest.raises(SetupFailed, match=r"pip install 'knotwork\[fastembed\]'"):
        FastembedEmbedder("any", dimension=2)


async def test_the_model_is_loaded_once_at_the_first_text_and_vectors_have_length_one(
    vendor: type[TextEmbedding],
) -> None:
    embedder = FastembedEmbedder("small", dimension=2)
    assert vendor.loaded == []
    passages = (await embedder.embed(["a", "bb"])).vectors
    queries = (await embedder.embed(["a"], purpose="query")).vectors
    await embedder.close()
    assert [list(vector) for vector in passages] == [pytest.approx([0.6, 0.8])] * 2
    assert list(queries[0]) == pytest.approx([0.8, 0.6])
    assert vendor.loaded == ["small"]


@pytest.mark.usefixtures("vendor")
async def test_an_unknown_model_and_a_wrong_dimension_are_refused() -> None:
    unknown, wrong = FastembedEmbedder("unknown", dimension=2), FastembedEmbedder("small", dimension=3)
    with pytest.raises(ModelRefused, match="no model 'unknown'"):
        await unknown.embed(["a"])
    with pytest.raises(ModelRefused, match=r"2 dimensions .* configured are 3"):
        await wrong.embed(["a"])
    await unknown.close()
    await wrong.close()


@pytest.mark.usefixtures("vendor")
async def test_a_failed_download_may_be_tried_again() -> None:
    embedder = FastembedEmbedder("unreachable", dimension=2)
    with pytest.raises(ModelFailed, match="from any source"):
        await embedder.embed(["a"])
    await embedder.close()
