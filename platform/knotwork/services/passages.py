"""From points to passages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from knotwork.domain.model import ChunkId, Passage, SourceRef, Vector
from knotwork.domain.retrieval import Reader, RetrieveOptions, Scored
from knotwork.ports.vector_store import Collection, VectorStore, View


def view_of(reader: Reader, options: RetrieveOptions) -> View:
    """What this reader may see of what is asked for."""
    return View(reader.subjects, options.filter)


def passage_from(id_: str, payload: Mapping[str, object], score: float, **extra: object) -> Passage:
    """A chunk's point as a passage. Offsets are characters of the source's text, pages count from 1."""
    values = cast("Mapping[str, Any]", payload)
    metadata: dict[str, object] = {
        "title": values["title"],
        "headings": values["headings"],
        "start": values["start"],
        "end": values["end"],
        "page": values.get("page"),  # a store may drop what is null
        "index": values["index"],
        "content_hash": values["content_hash"],
        "source": values["metadata"],
    }
    return Passage(
        ChunkId(id_),
        values["text"],
        score,
        SourceRef(values["source_type"], values["source_id"]),
        metadata | {name: value for name, value in extra.items() if value is not None},
    )


async def passages_for(
    vectors: VectorStore,
    reader: Reader,
    options: RetrieveOptions,
    ranked: Sequence[Scored],
    *,
    query_vector: Vector,
    extra: Mapping[ChunkId, Mapping[str, object]] | None = None,
) -> tuple[Passage, ...]:
    """The first `top_k` of a ranking that are visible and score ≥ min_score, with their similarity to the query."""
    floor = options.min_score
    kept = [hit for hit in ranked if floor is None or hit.score >= floor]
    found: list[Passage] = []
    for start in range(0, len(kept), options.top_k):
        part = kept[start : start + options.top_k]
        points = await vectors.fetch(
            reader.tenant, Collection.CHUNKS, [hit.id for hit in part], view=view_of(reader, options), with_vectors=True
        )
        score_of = {hit.id: hit.score for hit in part}
        for point in points:
            chunk_id = ChunkId(point.id)
            similarity = None if point.vector is None else cosine(query_vector, point.vector)
            more = (extra or {}).get(chunk_id, {})
            found.append(passage_from(chunk_id, point.payload, score_of[chunk_id], similarity=similarity, **more))
        if len(found) >= options.top_k:
            break
    return tuple(found[: options.top_k])


def cosine(a: Vector, b: Vector) -> float:
    """Cosine of two vectors of length 1, kept within [-1, 1] against rounding."""
    return max(-1.0, min(1.0, sum(x * y for x, y in zip(a, b, strict=True))))
