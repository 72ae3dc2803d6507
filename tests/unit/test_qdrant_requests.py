"""Names and batches of the Qdrant adapters."""

from __future__ import annotations

import random

import pytest

from knotwork.adapters.qdrant.mapping import physical_name
from knotwork.adapters.qdrant.server_requests import BATCH_BYTES, BATCH_ITEMS, batches, point_bytes, server_point
from knotwork.domain.model import TenantId
from knotwork.ports.vector_store import Collection, Point

ACME = TenantId("acme")


def chunk(i: int, dimension: int, text: str) -> Point:
    rng = random.Random(i)
    payload = {"subjects": ["*"], "source_id": "😀" * 1000, "text": text, "metadata": {"note": "é" * 50, "year": i}}
    return Point(f"c{i}", [rng.uniform(-1, 1) * 1e-3 for _ in range(dimension)], payload, text)


@pytest.mark.parametrize("text", ["x y " * 200, "a_b" * 300, "茶" * 800, "word " * 10])
def test_the_size_of_a_point_is_never_underestimated(text: str) -> None:
    point = chunk(3, 1536, text)
    sent = server_point(ACME, point, collection="chunks", dimension=1536).model_dump_json()
    assert len(sent.encode()) <= point_bytes(point)


def test_batches_keep_all_points_in_order_within_count_and_bytes() -> None:
    points = [chunk(0, 1536, "word " * 150)] * 2000
    found = list(batches(points, point_bytes))
    assert sum(map(len, found)) == len(points)
    assert all(len(batch) <= BATCH_ITEMS and sum(map(point_bytes, batch)) <= BATCH_BYTES for batch in found)
    assert len(found) < 40


def test_a_point_larger_than_a_batch_goes_alone() -> None:
    assert list(batches([1, BATCH_BYTES + 1, 1], int)) == [[1], [BATCH_BYTES + 1], [1]]


def test_a_collections_name_carries_the_model() -> None:
    assert physical_name(Collection.CHUNKS, "minilm-l6-v2-int8-1", 384) == "chunks__minilm-l6-v2-int8-1_384"


def test_models_whose_names_must_be_changed_never_share_a_name() -> None:
    models = ["a/b", "a:b", "A-b", "a-b", "a b", "x" * 300, "x" * 301, "模型", "模型二", "../up", "\ud800"]
    names = {physical_name(Collection.CHUNKS, model, 4) for model in models}
    assert len(names) == len(models)
    assert all(name.isascii() and "/" not in name and len(name) < 120 for name in names)
