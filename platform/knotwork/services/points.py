"""How chunks, entities and relationships stand in the vector store."""

from __future__ import annotations

from knotwork.domain.inputs import embedding_key
from knotwork.domain.model import Chunk, Source, Subject, Vector
from knotwork.ports.vector_store import Point


def chunk_payload(source: Source, chunk: Chunk, embedder_id: str) -> dict[str, object]:
    """Everything retrieval shows or filters on, so that a hit needs no second look-up."""
    return {
        "subjects": list(source.auth_subjects),
        "source_type": source.ref.type,
        "source_id": source.ref.id,
        "metadata": dict(source.metadata),
        "index": chunk.index,
        "text": chunk.text,
        "title": chunk.title,
        "headings": list(chunk.headings),
        "start": chunk.start,
        "end": chunk.end,
        "page": chunk.page,
        "content_hash": chunk.content_hash,
        "embedding_key": embedding_key(embedder_id, chunk),
    }


def chunk_point(source: Source, chunk: Chunk, embedder_id: str, vector: Vector) -> Point:
    """A chunk as a point; keyword search reads title, headings and text."""
    return Point(chunk.id, vector, chunk_payload(source, chunk, embedder_id), keyword_text(chunk))


def keyword_text(chunk: Chunk) -> str:
    """What keyword search reads of a chunk."""
    return "\n".join(part for part in (chunk.title, *chunk.headings, chunk.text) if part)


def graph_point(id_: str, vector: Vector, subjects: tuple[Subject, ...]) -> Point:
    """An entity or a relationship as a point: its id says all that may be shown."""
    return Point(id_, vector, {"subjects": list(subjects)})
