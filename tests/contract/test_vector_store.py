"""The promises of the VectorStore port, kept by every adapter."""

from __future__ import annotations

import asyncio
import math
import os
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

import pytest
import pytest_asyncio
from qdrant_client import AsyncQdrantClient

from knotwork.adapters.qdrant.edge_store import EdgeVectorStore
from knotwork.adapters.qdrant.server_store import ServerVectorStore
from knotwork.domain.bm25 import document_terms, query_terms
from knotwork.domain.filters import parse_filter
from knotwork.domain.model import EVERYONE, TenantId
from knotwork.errors import DimensionMismatch, InvalidInput, SetupFailed, StoreUnavailable
from knotwork.ports.vector_store import Collection, Point, StoredPoint, VectorStore, View

ACME, BETA = TenantId("acme"), TenantId("beta")
CHUNKS = Collection.CHUNKS
ALL = View()
READER = View(subjects=(EVERYONE, "user:ana"))
MODEL = "test-model@1"
X, Y, Z = [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]
HOSTILE = [
    "causes/solutions",
    "AND OR NOT",
    '"',
    "(",
    "[",
    "~",
    "!",
    "tb-",
    "*",
    "\\",
    "a\0b",
    "\ud800",
    "body:x^2 +(-",
]


def point(
    id_: str,
    vector: Sequence[float] = X,
    text: str | None = None,
    *,
    subjects: Sequence[str] = (EVERYONE,),
    source_id: str = "a.md",
    **metadata: object,
) -> Point:
    payload: dict[str, object] = {"subjects": list(subjects), "source_type": "document", "source_id": source_id}
    if text is not None:
        payload["text"] = text
    if metadata:
        payload["metadata"] = metadata
    return Point(id_, vector, payload, text)


def filtered(**fields: object) -> View:
    return View(filter=parse_filter(fields))


def bm25(query: str, texts: dict[str, str]) -> dict[str, float]:
    """Scores by definition, over these texts and nothing else."""
    weights = {id_: document_terms(text) for id_, text in texts.items()}
    total = sum(1 for terms in weights.values() if terms)
    scores: dict[str, float] = {}
    for id_, terms in weights.items():
        for term in query_terms(query).keys() & terms.keys():
            holding = sum(1 for others in weights.values() if term in others)
            idf = math.log(1 + (total - holding + 0.5) / (holding + 0.5))
            scores[id_] = scores.get(id_, 0.0) + idf * terms[term]
    return scores


async def ids_of(store: VectorStore, tenant: TenantId, view: View, page: int = 100) -> list[str]:
    found: list[str] = []
    after = None
    while True:
        points, after = await store.scroll(tenant, CHUNKS, view=view, after=after, limit=page)
        found += [each.id for each in points]
        if after is None:
            return found


class VectorStoreContract:  # a subclass adds the `store` fixture, prepared with MODEL and 4 dimensions
    async def test_a_point_comes_back_as_it_was_written(self, store: VectorStore) -> None:
        row = point("c1", [0.0, 0.6, 0.8, 0.0], "hello", year=2020, ok=True, tags=["p", "q"], share=0.5)
        await store.upsert(ACME, CHUNKS, [row])
        [stored] = await store.fetch(ACME, CHUNKS, ["c1"], view=ALL, with_vectors=True)
        assert (stored.id, stored.payload) == ("c1", row.payload)
        assert stored.vector == pytest.approx(row.vector)

    async def test_a_point_written_again_is_replaced(self, store: VectorStore) -> None:
        await store.upsert(ACME, CHUNKS, [point("c1", X, "old words")])
        await store.upsert(ACME, CHUNKS, [point("c1", Y, "new words")])
        assert await store.count(ACME, CHUNKS, view=ALL) == 1
        assert await store.search_keyword(ACME, "old", view=ALL, limit=5) == []
        assert [hit.score for hit in await store.search_dense(ACME, CHUNKS, Y, view=ALL, limit=5)] == [1.0]

    async def test_more_points_than_a_batch_are_all_written(self, store: VectorStore) -> None:
        await store.upsert(ACME, CHUNKS, [point(f"c{i}") for i in range(2300)])
        assert await store.count(ACME, CHUNKS, view=ALL) == 2300

    async def test_no_method_reads_or_changes_another_tenants_points(self, store: VectorStore) -> None:
        await store.upsert(ACME, CHUNKS, [point("same", X, "acme canary"), point("only", X, "canary")])
        await store.upsert(BETA, CHUNKS, [point("same", Y, "beta canary")])
        await store.set_payload(BETA, CHUNKS, [("only", {"text": "stolen"}), ("same", {"tenant": "acme", "id": "x"})])
        await store.delete(BETA, CHUNKS, ["only"])
        for view in (ALL, READER, filtered(source_id="a.md")):
            assert await store.count(BETA, CHUNKS, view=view) == 1
            assert await ids_of(store, BETA, view) == ["same"]
            assert [p.id for p in await store.fetch(BETA, CHUNKS, ["only", "same"], view=view)] == ["same"]
            assert [hit.id for hit in await store.search_dense(BETA, CHUNKS, X, view=view, limit=9)] == ["same"]
            assert [hit.id for hit in await store.search_keyword(BETA, "canary", view=view, limit=9)] == ["same"]
            assert {p.payload["text"] for p in await store.fetch(ACME, CHUNKS, ["only", "same"], view=view)} == {
                "canary",
                "acme canary",
            }
        await store.drop_tenant(BETA)
        assert await store.count(BETA, CHUNKS, view=ALL) == 0
        assert sorted(await ids_of(store, ACME, ALL)) == ["only", "same"]

    async def test_collections_are_apart(self, store: VectorStore) -> None:
        await store.upsert(ACME, Collection.ENTITIES, [Point("e", X, {"subjects": [EVERYONE], "name": "Ada"})])
        assert await store.count(ACME, CHUNKS, view=ALL) == 0
        assert [hit.id for hit in await store.search_dense(ACME, Collection.ENTITIES, X, view=READER, limit=2)] == ["e"]

    @pytest.mark.parametrize(
        ("subjects", "seen"),
        [
            (None, {"all", "ana", "sre"}),
            ((EVERYONE,), {"all"}),
            ((EVERYONE, "user:ana"), {"all", "ana"}),
            (("group:sre",), {"sre"}),
            ((), set[str]()),
        ],
    )
    async def test_a_reader_sees_what_lists_one_of_its_subjects(
        self, store: VectorStore, subjects: tuple[str, ...] | None, seen: set[str]
    ) -> None:
        rows = [
            point("all", X, "canary"),
            point("ana", X, "canary", subjects=["user:ana", "user:bo"]),
            point("sre", X, "canary", subjects=["group:sre"]),
        ]
        await store.upsert(ACME, CHUNKS, rows)
        view = View(subjects=subjects)
        assert set(await ids_of(store, ACME, view)) == seen
        assert await store.count(ACME, CHUNKS, view=view) == len(seen)
        assert {p.id for p in await store.fetch(ACME, CHUNKS, ["all", "ana", "sre"], view=view)} == seen
        assert {hit.id for hit in await store.search_dense(ACME, CHUNKS, X, view=view, limit=9)} == seen
        assert {hit.id for hit in await store.search_keyword(ACME, "canary", view=view, limit=9)} == seen

    @pytest.mark.parametrize(
        ("asked", "seen"),
        [
            ({"source_id": "b 'x'.md"}, {"b"}),
            ({"source_id": ["a.md", "nowhere"]}, {"a"}),
            ({"source_type": "document"}, {"a", "b"}),
            ({"source_id": 7}, set[str]()),
            ({"year": 2020}, {"a"}),
            ({"year": 2021}, {"b"}),
            ({"year": "2020"}, set[str]()),
            ({"year": [2020, 2021.0]}, {"a", "b"}),
            ({"year": []}, set[str]()),
            ({"year": {"gte": 2020.5}}, {"b"}),
            ({"year": {"gte": 2019, "lte": 2020}}, {"a"}),
            ({"share": 0.5}, {"a"}),
            ({"ok": True}, {"a"}),
            ({"ok": False}, {"b"}),
            ({"ok": 1}, set[str]()),
            ({"tags": "q"}, {"a"}),
            ({"tags": ["z", "q"]}, {"a"}),
            ({"day": {"gte": "2024-03-01"}}, {"a", "b"}),
            ({"day": {"lte": "2024-03-01"}}, {"a"}),
            ({"day": {"gte": "2024-03-01T11:00:00+01:00", "lte": "2024-03-01T10:00:00Z"}}, {"a"}),
            ({"day": "2024-03-02"}, {"b"}),
            ({"ключ-😀'": "x\"y\\ 'z' 😀"}, {"a"}),
            ({"a=b": "c"}, {"a"}),
            ({"a": "b=c"}, {"b"}),
            ({"big": 2**60}, {"a"}),
            ({"big": 2**60 + 1}, set[str]()),
            ({"year": 2020, "ok": False}, set[str]()),
            ({"nothing": 1}, set[str]()),
        ],
    )
    async def test_a_filter_keeps_what_meets_all_its_conditions(
        self, store: VectorStore, asked: dict[str, object], seen: set[str]
    ) -> None:
        quoted = {"ключ-😀'": "x\"y\\ 'z' 😀", "a=b": "c", "day": "2024-03-01T10:00:00Z"}
        a = point("a", X, "word", year=2020, share=0.5, ok=True, tags=["p", "q"], big=2**60, **quoted)
        b = point("b", X, "word", source_id="b 'x'.md", year=2021.0, ok=False, a="b=c", day="2024-03-02")
        await store.upsert(ACME, CHUNKS, [a, b])
        view = View(filter=parse_filter(asked))
        assert set(await ids_of(store, ACME, view)) == seen
        assert await store.count(ACME, CHUNKS, view=view) == len(seen)
        assert {p.id for p in await store.fetch(ACME, CHUNKS, ["a", "b"], view=view)} == seen
        assert {hit.id for hit in await store.search_dense(ACME, CHUNKS, X, view=view, limit=9)} == seen
        assert {hit.id for hit in await store.search_keyword(ACME, "word", view=view, limit=9)} == seen

    async def test_a_bound_that_is_no_date_is_refused(self, store: VectorStore) -> None:
        with pytest.raises(InvalidInput, match="soon"):
            await store.count(ACME, CHUNKS, view=filtered(day={"gte": "soon"}))

    async def test_a_source_id_of_4_kb_is_data(self, store: VectorStore) -> None:
        long_id = "./data/😀 \"x' y/" + "é" * 2000
        await store.upsert(ACME, CHUNKS, [point(long_id, X, "word", source_id=long_id), point("other")])
        assert await ids_of(store, ACME, filtered(source_id=long_id)) == [long_id]
        assert [hit.id for hit in await store.search_keyword(ACME, "word", view=ALL, limit=1)] == [long_id]

    async def test_the_filter_is_applied_before_the_cut(self, store: VectorStore) -> None:
        near = [point(f"near{i:03}", X, "word word", subjects=["group:other"]) for i in range(200)]
        await store.upsert(ACME, CHUNKS, [*near, point("mine", [0.6, 0.8, 0, 0], "word and much more text besides")])
        assert [hit.id for hit in await store.search_dense(ACME, CHUNKS, X, view=READER, limit=1)] == ["mine"]
        assert [hit.id for hit in await store.search_keyword(ACME, "word", view=READER, limit=1)] == ["mine"]

    @pytest.mark.parametrize("backwards", [False, True])
    async def test_ties_at_the_cut_are_broken_by_id_whatever_the_order_of_writing(
        self, store: VectorStore, *, backwards: bool
    ) -> None:
        rows = [point(f"c{i:03}", Y, "tied words") for i in range(300)] + [point("best", X, "tied words words")]
        await store.upsert(ACME, CHUNKS, rows[::-1] if backwards else rows)
        dense = await store.search_dense(ACME, CHUNKS, [0.8, 0.6, 0, 0], view=ALL, limit=4)
        keyword = await store.search_keyword(ACME, "words", view=ALL, limit=4)
        expected = ["best", "c000", "c001", "c002"]
        assert [hit.id for hit in dense] == [hit.id for hit in keyword] == expected
        assert dense[1].payload == rows[0].payload

    @pytest.mark.parametrize("limit", [1, 4, 400])
    async def test_without_payloads_the_same_is_found(self, store: VectorStore, limit: int) -> None:
        rows = [point(f"c{i:03}", Y, "tied words") for i in range(300)] + [point("best", X, "tied words words")]
        await store.upsert(ACME, CHUNKS, rows)
        vector = [0.8, 0.6, 0, 0]
        whole = [
            await store.search_dense(ACME, CHUNKS, vector, view=ALL, limit=limit),
            await store.search_keyword(ACME, "words", view=ALL, limit=limit),
        ]
        bare = [
            await store.search_dense(ACME, CHUNKS, vector, view=ALL, limit=limit, with_payload=False),
            await store.search_keyword(ACME, "words", view=ALL, limit=limit, with_payload=False),
        ]
        assert [[replace(hit, payload={}) for hit in hits] for hits in whole] == bare

    async def test_a_dense_score_is_the_cosine_and_min_score_is_kept(self, store: VectorStore) -> None:
        rows = [point("same", [2.0, 0, 0, 0]), point("half", [0.6, 0.8, 0, 0]), point("opposite", [-3.0, 0, 0, 0])]
        await store.upsert(ACME, CHUNKS, rows)
        hits = await store.search_dense(ACME, CHUNKS, X, view=ALL, limit=3)
        assert [(hit.id, hit.score) for hit in hits] == [
            ("same", 1.0),
            ("half", pytest.approx(0.6)),
            ("opposite", -1.0),
        ]
        kept = await store.search_dense(ACME, CHUNKS, X, view=ALL, limit=3, min_score=hits[1].score)
        assert [hit.id for hit in kept] == ["same", "half"]
        assert await store.search_dense(ACME, CHUNKS, X, view=ALL, limit=0) == []

    async def test_words_of_any_script_identifiers_code_and_numbers_are_found(self, store: VectorStore) -> None:
        texts = {
            "chinese": "苹果手机在桌子上",
            "japanese": "リトライ予算について",
            "thai": "งบประมาณการลองใหม่",
            "korean": "재시도 예산",
            "hindi": "पुनः प्रयास बजट",
            "arabic": "ميزانية إعادة المحاولة",
            "hebrew": "תקציב ניסיונות",
            "russian": "бюджет повторов",
            "greek": "Προϋπολογισμός",
            "german": "Straßenbahn über Köln",
            "identifier": "set retry_budget in parseHTTPResponse",
            "code": "if (x != 0) std::vector<int> v = foo.bar(x);",
            "languages": "C++ and not C#",
            "ticket": "INC-2041 was closed",
            "number": "Port 8080 of version 1.10.3",
            "address": "mail ana@example.org about 10.0.0.17",
        }
        await store.upsert(ACME, CHUNKS, [point(id_, text=text) for id_, text in texts.items()])
        found_by = {
            "手机": "chinese",
            "予算": "japanese",
            "ลองใหม่": "thai",
            "예산": "korean",
            "बजट": "hindi",
            "المحاولة": "arabic",
            "ניסיונות": "hebrew",
            "БЮДЖЕТ": "russian",
            "προυπολογισμος": "greek",
            "STRASSENBAHN koln": "german",
            "retry_budget": "identifier",
            "response": "identifier",
            "std::vector<int>": "code",
            "foo.bar": "code",
            "c++": "languages",
            "inc-2041": "ticket",
            "2041": "ticket",
            "8080": "number",
            "1.10.3": "number",
            "ana@example.org": "address",
            "10.0.0.17": "address",
        }
        for query, wanted in found_by.items():
            hits = await store.search_keyword(ACME, query, view=ALL, limit=1)
            assert [hit.id for hit in hits] == [wanted], query

    async def test_titles_and_headings_are_searched_before_texts_which_decide_between_equals(
        self, store: VectorStore
    ) -> None:
        def titled(id_: str, title: str, headings: list[str], text: str) -> Point:
            one = point(id_, text=text)
            return replace(one, payload={**one.payload, "title": title, "headings": headings})

        await store.upsert(
            ACME,
            CHUNKS,
            [
                titled("text", "Rota", [], "retry budget " * 30),
                titled("title", "The retry budget", [], "nothing else"),
                titled("heading", "Policies", ["Retries", "Retry"], "nothing else"),
                titled("same", "Policies", ["Retries", "Retry"], "a budget"),
                titled("other", "Rota", [], "lunch"),
            ],
        )
        hits = await store.search_keyword(ACME, "retry budget", view=ALL, limit=9, by_outline=True)
        assert [hit.id for hit in hits] == ["title", "same", "heading", "text"]
        plain = await store.search_keyword(ACME, "retry budget", view=ALL, limit=9)
        assert [hit.id for hit in plain] == ["text", "same"]

    async def test_keyword_scores_are_bm25_over_the_visible_points_alone(self, store: VectorStore) -> None:
        texts = {
            "c1": "the retry budget of the gateway",
            "c2": "a budget for travel, a budget for food",
            "c3": "retry_budget: 20%",
            "c4": "nothing of the kind 苹果手机",
        }
        mine = [point(id_, X, text) for id_, text in texts.items()]
        hidden = [point(f"h{i}", X, "budget " * i, subjects=["group:other"]) for i in range(1, 30)]
        gone = [point(f"d{i}", X, "retry budget") for i in range(20)]
        await store.upsert(ACME, CHUNKS, [*hidden, *gone, *mine, point("no-text", X)])
        await store.upsert(BETA, CHUNKS, [point(f"b{i}", X, "the retry retry budget 手机") for i in range(50)])
        await store.delete(ACME, CHUNKS, [row.id for row in gone])
        for query in ("budget", "retry budget gateway", "retry_budget", "手机", "absent"):
            hits = await store.search_keyword(ACME, query, view=READER, limit=10)
            assert {hit.id: hit.score for hit in hits} == pytest.approx(bm25(query, texts), rel=1e-5)
            assert [hit.id for hit in hits] == [hit.id for hit in sorted(hits, key=lambda hit: (-hit.score, hit.id))]
        floor = (await store.search_keyword(ACME, "budget", view=READER, limit=10))[1].score
        assert len(await store.search_keyword(ACME, "budget", view=READER, limit=10, min_score=floor)) == 2

    async def test_a_filter_narrows_the_statistics_too(self, store: VectorStore) -> None:
        await store.upsert(ACME, CHUNKS, [point(f"o{i}", X, "budget", year=2020) for i in range(9)])
        texts = {"n1": "budget", "n2": "other words"}
        await store.upsert(ACME, CHUNKS, [point(id_, X, text, year=2021) for id_, text in texts.items()])
        hits = await store.search_keyword(ACME, "budget", view=filtered(year={"gte": 2021}), limit=5)
        assert {hit.id: hit.score for hit in hits} == pytest.approx(bm25("budget", texts), rel=1e-5)

    async def test_set_payload_keeps_other_keys_vectors_and_text(self, store: VectorStore) -> None:
        await store.upsert(ACME, CHUNKS, [point("c1", Y, "hello", year=2020), point("c2", X, "hello")])
        await store.set_payload(ACME, CHUNKS, [("c1", {"index": 7}), ("unknown", {"index": 8}), ("c2", {"index": 9})])
        await store.set_payload(ACME, CHUNKS, [("c1", {"metadata": {"year": 2021}, "subjects": ["user:bo"]})])
        [stored] = await store.fetch(ACME, CHUNKS, ["c1"], view=View(subjects=("user:bo",)), with_vectors=True)
        assert stored.vector == Y
        assert stored.payload == {
            "subjects": ["user:bo"],
            "source_type": "document",
            "source_id": "a.md",
            "text": "hello",
            "index": 7,
            "metadata": {"year": 2021},
        }
        assert await ids_of(store, ACME, filtered(year=2021)) == ["c1"]
        assert await ids_of(store, ACME, filtered(year=2020)) == []
        assert {hit.id for hit in await store.search_keyword(ACME, "hello", view=ALL, limit=5)} == {"c1", "c2"}
        assert await store.count(ACME, CHUNKS, view=ALL) == 2

    async def test_delete_passes_over_what_is_not_there(self, store: VectorStore) -> None:
        await store.upsert(ACME, CHUNKS, [point("c1"), point("c2")])
        await store.delete(ACME, CHUNKS, ["c1", "unknown"])
        await store.delete(ACME, CHUNKS, [])
        assert await ids_of(store, ACME, ALL) == ["c2"]

    async def test_fetch_answers_in_the_order_asked_each_once(self, store: VectorStore) -> None:
        await store.upsert(ACME, CHUNKS, [point(f"c{i}") for i in range(5)])
        found = await store.fetch(ACME, CHUNKS, ["c3", "c0", "unknown", "c3", "c4"], view=ALL)
        assert [each.id for each in found] == ["c3", "c0", "c4"]
        assert all(isinstance(each, StoredPoint) and each.vector is None for each in found)
        assert await store.fetch(ACME, CHUNKS, [], view=ALL) == []

    @pytest.mark.parametrize("page", [1, 2, 5, 6, 7, 100])
    async def test_pages_of_any_size_hold_every_point_once_in_one_order(self, store: VectorStore, page: int) -> None:
        await store.upsert(ACME, CHUNKS, [point(f"c{i}") for i in range(6)])
        await store.upsert(BETA, CHUNKS, [point(f"b{i}") for i in range(6)])
        found = await ids_of(store, ACME, READER, page)
        assert sorted(found) == [f"c{i}" for i in range(6)]
        assert found == await ids_of(store, ACME, ALL)

    async def test_a_cursor_that_is_none_is_refused(self, store: VectorStore) -> None:
        with pytest.raises(InvalidInput, match="cursor"):
            await store.scroll(ACME, CHUNKS, view=ALL, after="'; drop", limit=2)

    async def test_what_was_written_through_the_port_stands_under_its_own_key(self, store: VectorStore) -> None:
        rows = [point(f"c{number}", text="hello") for number in range(5)]
        await store.upsert(ACME, CHUNKS, rows)
        await store.upsert(BETA, CHUNKS, rows)
        assert await store.strays(ACME, CHUNKS, remove=True) == []
        assert await store.count(ACME, CHUNKS, view=ALL) == 5

    async def test_another_dimension_is_refused_with_both_numbers(self, store: VectorStore) -> None:
        with pytest.raises(DimensionMismatch, match=r"4 dimensions.* 768"):
            await store.prepare(model=MODEL, dimension=768)
        with pytest.raises(DimensionMismatch, match=r"4 dimensions.* 2"):
            await store.upsert(ACME, CHUNKS, [point("c1", [1.0, 0.0])])
        with pytest.raises(DimensionMismatch, match=r"4 dimensions.* 2"):
            await store.search_dense(ACME, CHUNKS, [1.0, 0.0], view=ALL, limit=1)

    async def test_another_model_of_the_same_dimension_is_refused(self, store: VectorStore) -> None:
        with pytest.raises(SetupFailed, match="other-model"):
            await store.prepare(model="other-model", dimension=4)

    async def test_preparing_again_changes_nothing(self, store: VectorStore) -> None:
        await store.upsert(ACME, CHUNKS, [point("c1")])
        await store.prepare(model=MODEL, dimension=4)
        assert await store.count(ACME, CHUNKS, view=ALL) == 1

    @pytest.mark.parametrize("query", HOSTILE, ids=ascii)
    async def test_any_sign_in_a_query_a_text_or_a_payload_is_data(self, store: VectorStore, query: str) -> None:
        hostile = point(f"id {query}", X, f"canary {query}", source_id=query, subjects=[query], note=query)
        await store.upsert(ACME, CHUNKS, [hostile, point("c1", X, "harmless")])
        view = View(subjects=(query,), filter=parse_filter({"source_id": query, "note": query}))
        hits = await store.search_keyword(ACME, f"canary {query}", view=view, limit=5)
        assert len(hits) == 1
        assert len(await store.fetch(ACME, CHUNKS, [f"id {query}"], view=view)) == 1
        assert all(hit.score > 0 for hit in await store.search_keyword(ACME, query, view=ALL, limit=5))

    async def test_lone_surrogates_become_replacement_characters_and_nul_is_dropped(self, store: VectorStore) -> None:
        await store.upsert(ACME, CHUNKS, [replace(point("c1"), payload={"text": "a\ud800\0b", "headings": ["\udfff"]})])
        [stored] = await store.fetch(ACME, CHUNKS, ["c1"], view=ALL)
        assert stored.payload == {"text": "a\ufffdb", "headings": ["\ufffd"]}

    async def test_a_number_that_json_does_not_have_is_refused(self, store: VectorStore) -> None:
        with pytest.raises(InvalidInput, match="nan"):
            await store.upsert(ACME, CHUNKS, [point("c1", share=math.nan)])

    async def test_a_query_of_100_kb_is_answered_and_one_without_words_finds_nothing(self, store: VectorStore) -> None:
        await store.upsert(ACME, CHUNKS, [point("c1", X, "word7")])
        long = " ".join(f"word{i}" for i in range(12_000))
        assert [hit.id for hit in await store.search_keyword(ACME, long, view=ALL, limit=5)] == ["c1"]
        assert await store.search_keyword(ACME, "a" * 100_000, view=ALL, limit=5) == []
        for empty in ("", "  ", "?!", "\0"):
            assert await store.search_keyword(ACME, empty, view=ALL, limit=5) == []

    async def test_many_calls_at_once_answer_as_one_by_one(self, store: VectorStore) -> None:
        rows = [point(f"c{i:02}", [1.0, i / 10, 0, 0], f"word{i} shared", year=2000 + i) for i in range(40)]
        await store.upsert(ACME, CHUNKS, rows)
        views = [ALL, READER, filtered(year={"gte": 2010}), filtered(year=2003)]
        vectors = [[1.0, i / 5, 0.1, 0.0] for i in range(12)]
        calls = [(vector, view) for vector in vectors for view in views]
        together = await asyncio.gather(
            *(store.search_dense(ACME, CHUNKS, vector, view=view, limit=5) for vector, view in calls)
        )
        for (vector, view), hits in zip(calls, together, strict=True):
            alone = await store.search_dense(ACME, CHUNKS, vector, view=view, limit=5)
            assert [hit.id for hit in hits] == [hit.id for hit in alone]
            assert [hit.score for hit in hits] == pytest.approx([hit.score for hit in alone])


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def edge_store(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[EdgeVectorStore]:
    """One store for all tests, emptied before each: making four shards waits for the disk."""
    store = await opened(tmp_path_factory.mktemp("qdrant"))
    yield store
    await store.close()


def shard_of(folder: Path, collection: str) -> Path:
    [found] = [path for path in folder.glob(f"{collection}__*") if path.is_dir()]
    return found


def holds(folder: Path, word: bytes) -> bool:
    return any(word in path.read_bytes() for path in folder.rglob("*") if path.is_file())


async def answers(store: VectorStore) -> list[object]:
    """Every point with its vector, and what searches find."""
    found: dict[str, StoredPoint] = {}
    after = None
    while True:
        page, after = await store.scroll(ACME, CHUNKS, view=ALL, after=after, limit=400, with_vectors=True)
        found |= {each.id: each for each in page}
        if after is None:
            break
    dense = await store.search_dense(ACME, CHUNKS, Y, view=filtered(n={"gte": 5}), limit=20)
    keyword = await store.search_keyword(ACME, "hello word7", view=ALL, limit=20)
    return [found, dense, keyword]


class TestEdgeVectorStore(VectorStoreContract):
    @pytest_asyncio.fixture
    async def store(self, edge_store: EdgeVectorStore) -> EdgeVectorStore:
        await edge_store.drop_tenant(ACME)
        await edge_store.drop_tenant(BETA)
        return edge_store

    async def test_what_was_written_is_there_after_opening_again(self, tmp_path: Path) -> None:
        store = await opened(tmp_path)
        await store.upsert(ACME, CHUNKS, [point("c1", X, "hello", year=2020)])
        assert await store.count(ACME, CHUNKS, view=filtered(year={"gte": 2020})) == 1
        await asyncio.gather(*(store.flush() for _ in range(8)))
        await store.close()
        again = await opened(tmp_path)
        assert [hit.id for hit in await again.search_keyword(ACME, "hello", view=filtered(year=2020), limit=1)] == [
            "c1"
        ]
        await again.close()

    async def test_a_model_of_another_dimension_is_refused_after_opening_again(self, tmp_path: Path) -> None:
        await (await opened(tmp_path)).close()
        again = EdgeVectorStore(tmp_path)
        await again.open()
        with pytest.raises(DimensionMismatch, match=r"4 dimensions.* 768"):
            await again.prepare(model="other", dimension=768)
        await again.close()

    async def test_a_shard_half_made_by_a_crash_is_made_anew(self, tmp_path: Path) -> None:
        await (await opened(tmp_path)).close()
        (tmp_path / "shards.json").unlink()  # as if the crash came before the pointer was written
        again = await opened(tmp_path)
        await again.upsert(ACME, CHUNKS, [point("c1")])
        assert await again.count(ACME, CHUNKS, view=ALL) == 1
        await again.close()

    async def test_compacting_keeps_every_answer_and_leaves_nothing_of_what_was_deleted(self, tmp_path: Path) -> None:
        store = await opened(tmp_path)
        rows = [point(f"c{number}", [1.0, number, 0.5, 0.0], f"word{number} hello", n=number) for number in range(1200)]
        await store.upsert(ACME, CHUNKS, rows)
        await store.upsert(ACME, CHUNKS, [point("secret", text="xanthoproteinuria")])
        await store.delete(ACME, CHUNKS, ["secret"])
        await store.flush()
        assert holds(tmp_path, b"xanthoproteinuria")
        before = await answers(store)
        for _ in range(2):  # the second takes the place of the first
            await store.compact()
            assert not holds(tmp_path, b"xanthoproteinuria")
            assert await answers(store) == before
        await store.close()
        again = await opened(tmp_path)
        assert await answers(again) == before
        await again.close()

    async def test_while_a_shard_is_compacted_queries_are_answered_and_writes_are_kept(self, tmp_path: Path) -> None:
        store = await opened(tmp_path)
        await store.upsert(ACME, CHUNKS, [point(f"c{number}", text="hello") for number in range(3000)])
        compacting = asyncio.create_task(store.compact())
        await asyncio.sleep(0)
        await store.upsert(ACME, CHUNKS, [point("late", text="hello late")])
        await store.delete(ACME, CHUNKS, ["c0"])
        assert len(await store.search_keyword(ACME, "hello", view=ALL, limit=5)) == 5
        await compacting
        assert [hit.id for hit in await store.search_keyword(ACME, "late", view=ALL, limit=5)] == ["late"]
        assert await store.count(ACME, CHUNKS, view=ALL) == 3000
        await store.close()

    async def test_a_copy_that_a_crash_left_is_removed_and_not_used(self, tmp_path: Path) -> None:
        store = await opened(tmp_path)
        await store.upsert(ACME, CHUNKS, [point("c1", text="hello")])
        await store.close()
        live = shard_of(tmp_path, "chunks")
        copy = live.with_name(live.name + "~")
        copy.mkdir()
        (copy / "half").write_text("xanthoproteinuria")
        again = await opened(tmp_path)
        assert not copy.exists()
        assert await again.count(ACME, CHUNKS, view=ALL) == 1
        await again.close()

    async def test_a_cancelled_query_leaves_the_others_their_answers(self, store: EdgeVectorStore) -> None:
        await store.upsert(ACME, CHUNKS, [point("c1")])
        tasks = [asyncio.create_task(store.search_dense(ACME, CHUNKS, X, view=ALL, limit=1)) for _ in range(6)]
        await asyncio.sleep(0)
        tasks[2].cancel()
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(answer) for answer in answers].count(list) >= 5

    async def test_of_four_processes_one_owns_the_folder_and_the_others_are_told(self, tmp_path: Path) -> None:
        children = [start_child(OWNER, tmp_path / "shared") for _ in range(4)]
        lines = await asyncio.gather(*(asyncio.to_thread(read_line, child) for child in children))
        for child in children:
            child.communicate("\n", timeout=30)  # only now does the owner leave
        assert sorted(lines)[:1] == ["owner"]
        assert all("belongs to a running process" in line for line in sorted(lines)[1:])

    async def test_what_was_flushed_survives_a_kill(self, tmp_path: Path) -> None:
        child = start_child(WRITER, tmp_path / "killed")
        assert await asyncio.to_thread(read_line, child) == "flushed"
        child.send_signal(signal.SIGKILL)
        child.communicate(timeout=30)
        store = await opened(tmp_path / "killed")
        assert {f"c{i}" for i in range(3000)} <= set(await ids_of(store, ACME, ALL, 1000))
        assert len(await store.search_keyword(ACME, "flushed", view=ALL, limit=200)) == 200
        await store.close()


async def opened(folder: Path) -> EdgeVectorStore:
    store = EdgeVectorStore(folder)
    await store.open()
    await store.prepare(model=MODEL, dimension=4)
    return store


PRELUDE = """
import asyncio, sys
from pathlib import Path
from knotwork.adapters.qdrant.edge_store import EdgeVectorStore
from knotwork.errors import SetupFailed
from knotwork.ports.vector_store import Collection, Point
"""
OWNER = """
async def main():
    store = EdgeVectorStore(Path(sys.argv[1]))
    try:
        await store.open()
        await store.prepare(model="test-model@1", dimension=4)
        print("owner", flush=True)
    except SetupFailed as error:
        print(f"told: {error}", flush=True)
    sys.stdin.readline()
    await store.close()
asyncio.run(main())
"""
WRITER = """
async def main():
    store = EdgeVectorStore(Path(sys.argv[1]))
    await store.open()
    await store.prepare(model="test-model@1", dimension=4)
    rows = [Point(f"c{i}", [1.0, i / 3000, 0.0, 0.0], {"subjects": ["*"]}, "flushed") for i in range(3000)]
    await store.upsert("acme", Collection.CHUNKS, rows)
    await store.flush()
    print("flushed", flush=True)
    while True:
        await store.upsert("acme", Collection.CHUNKS, [Point("late", [1.0, 0.0, 0.0, 0.0], {}, "late")])
asyncio.run(main())
"""


def start_child(code: str, folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", textwrap.dedent(PRELUDE + code), str(folder)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def read_line(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    return child.stdout.readline().strip()


@pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant")  # it has none, and says so
@pytest.mark.filterwarnings("ignore:Local mode performs exact")  # so asking for it has no effect
class TestServerVectorStoreInLocalMode(VectorStoreContract):
    """The adapter over the client's own emulation: no server, no durability, every request shape."""

    @pytest_asyncio.fixture
    async def store(self) -> AsyncGenerator[ServerVectorStore]:
        store = ServerVectorStore(AsyncQdrantClient(":memory:"))
        await store.prepare(model=MODEL, dimension=4)
        yield store
        await store.close()


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    store = ServerVectorStore(AsyncQdrantClient(f"http://127.0.0.1:{port}", check_compatibility=False))
    with pytest.raises(StoreUnavailable, match="Qdrant does not answer") as caught:
        await store.prepare(model="m", dimension=4)
    assert caught.value.retryable
    await store.close()


def docker_runs() -> bool:
    """Asked of the command: the Docker library leaves a socket open when it finds no daemon."""
    docker = shutil.which("docker")
    return docker is not None and subprocess.run([docker, "info"], check=False, capture_output=True).returncode == 0


@dataclass(frozen=True)
class Server:
    url: str


@pytest.fixture(scope="session")
def qdrant_server() -> Iterator[Server]:
    """A server named by KNOTWORK_TEST_QDRANT_URL, or one in a container."""
    if url := os.environ.get("KNOTWORK_TEST_QDRANT_URL"):
        yield Server(url)
        return
    if not docker_runs():
        reason = "no Qdrant server: set KNOTWORK_TEST_QDRANT_URL, or start Docker"
        (pytest.fail if os.environ.get("KNOTWORK_REQUIRE_SERVERS") == "1" else pytest.skip)(reason)
    from testcontainers.community.qdrant import QdrantContainer

    container = QdrantContainer("qdrant/qdrant:v1.20.0").start()
    try:
        yield Server(f"http://{container.rest_host_address}")
    finally:
        container.stop()


@pytest.mark.server
class TestServerVectorStore(VectorStoreContract):
    @pytest_asyncio.fixture
    async def store(self, qdrant_server: Server) -> AsyncGenerator[ServerVectorStore]:
        client = AsyncQdrantClient(qdrant_server.url)
        prefix = f"test_{uuid4().hex[:8]}_"
        store = ServerVectorStore(client, prefix=prefix)
        await store.prepare(model=MODEL, dimension=4)
        yield store
        for found in (await client.get_collections()).collections:
            if found.name.startswith(prefix):
                await client.delete_collection(found.name)
        await store.close()

    async def test_of_four_that_prepare_at_once_all_end_with_the_same_collections(self, qdrant_server: Server) -> None:
        prefix = f"test_{uuid4().hex[:8]}_"
        stores = [ServerVectorStore(AsyncQdrantClient(qdrant_server.url), prefix=prefix) for _ in range(4)]
        await asyncio.gather(*(each.prepare(model=MODEL, dimension=4) for each in stores))
        await stores[0].upsert(ACME, CHUNKS, [point("c1")])
        assert [await each.count(ACME, CHUNKS, view=ALL) for each in stores] == [1, 1, 1, 1]
        cleaner = AsyncQdrantClient(qdrant_server.url)
        for found in (await cleaner.get_collections()).collections:
            if found.name.startswith(prefix):
                await cleaner.delete_collection(found.name)
        for each in [*stores, cleaner]:
            await each.close()
