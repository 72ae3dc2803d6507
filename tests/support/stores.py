"""The stores of the graph, by memory or by Neo4j, and short ways to fill them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import uuid4

from knotwork.adapters.memory.catalogue import MemoryCatalogue
from knotwork.adapters.memory.database import MemoryDatabase
from knotwork.adapters.memory.graph_store import MemoryGraphStore
from knotwork.adapters.memory.keys import MemoryKeyStore
from knotwork.adapters.memory.ledger import MemoryLedger
from knotwork.adapters.memory.skill_store import MemorySkillStore
from knotwork.adapters.memory.usage import MemoryUsageStore
from knotwork.adapters.neo4j.catalogue import Neo4jCatalogue
from knotwork.adapters.neo4j.embedded import Neo4jAddress
from knotwork.adapters.neo4j.graph_store import Neo4jGraphStore
from knotwork.adapters.neo4j.keys import Neo4jKeyStore
from knotwork.adapters.neo4j.ledger import Neo4jLedger
from knotwork.adapters.neo4j.session import Neo4jSession, open_driver
from knotwork.adapters.neo4j.skill_store import Neo4jSkillStore
from knotwork.adapters.neo4j.usage import Neo4jUsageStore
from knotwork.domain.catalogue import Evidence, ExtractionState, StoredChunk
from knotwork.domain.ids import chunk_id, content_hash
from knotwork.domain.model import (
    EVERYONE,
    ChunkId,
    Contribution,
    Metadata,
    ParsedText,
    Source,
    SourceRef,
    Subject,
    TenantId,
)
from knotwork.domain.sanitise import sanitise_extraction
from knotwork.ports.catalogue import Catalogue, SourceWrite
from knotwork.ports.graph_store import GraphStore
from knotwork.ports.keys import KeyStore
from knotwork.ports.ledger import Ledger
from knotwork.ports.skill_store import SkillStore
from knotwork.ports.usage import UsageStore

Fact = tuple[str, str, str, str]  # from, type, to, description


@dataclass(frozen=True, slots=True)
class Stores:
    """The ports over one database."""

    catalogue: Catalogue
    graph: GraphStore
    ledger: Ledger
    keys: KeyStore
    skills: SkillStore
    usage: UsageStore


def memory_stores(database: MemoryDatabase | None = None) -> Stores:
    database = database or MemoryDatabase()
    return Stores(
        MemoryCatalogue(database),
        MemoryGraphStore(database),
        MemoryLedger(database),
        MemoryKeyStore(database),
        MemorySkillStore(database),
        MemoryUsageStore(database),
    )


def neo4j_stores(session: Neo4jSession) -> Stores:
    return Stores(
        Neo4jCatalogue(session),
        Neo4jGraphStore(session),
        Neo4jLedger(session),
        Neo4jKeyStore(session),
        Neo4jSkillStore(session),
        Neo4jUsageStore(session),
    )


@asynccontextmanager
async def neo4j_session(address: Neo4jAddress) -> AsyncGenerator[Neo4jSession]:
    """A session over a driver of its own, with the schema in place."""
    driver = open_driver(address.bolt_uri, address.user, address.password)
    try:
        session = Neo4jSession(driver)
        await session.apply_schema()
        yield session
    finally:
        await driver.close()


def new_tenant() -> TenantId:
    """A tenant that no other test has."""
    return TenantId(f"tenant-{uuid4().hex}")


def doc(name: str) -> SourceRef:
    return SourceRef("document", name)


def chunk_of(ref: SourceRef, text: str) -> ChunkId:
    return chunk_id(ref, text, 0)


def source_of(ref: SourceRef, *, subjects: Sequence[Subject] = (EVERYONE,), metadata: Metadata | None = None) -> Source:
    return Source(ref, f"Title of {ref.id}", content_hash(ref.id), tuple(sorted(subjects)), metadata or {})


def stored_chunk(ref: SourceRef, text: str, index: int) -> StoredChunk:
    return StoredChunk(
        chunk_of(ref, text), index, index * 10, index * 10 + 9, content_hash(text), embedding_key=content_hash(text)
    )


def source_write(
    ref: SourceRef,
    texts: Sequence[str],
    *,
    subjects: Sequence[Subject] = (EVERYONE,),
    metadata: Metadata | None = None,
) -> SourceWrite:
    """A source of these chunks."""
    chunks = [stored_chunk(ref, text, index) for index, text in enumerate(texts)]
    return SourceWrite(source_of(ref, subjects=subjects, metadata=metadata), ParsedText("\n\n".join(texts)), chunks)


async def put(  # the subjects are the point of most calls
    stores: Stores,
    tenant: TenantId,
    name: str,
    texts: Sequence[str],
    *,
    subjects: Sequence[Subject] = (EVERYONE,),
    metadata: Metadata | None = None,
) -> list[ChunkId]:
    """Store a document of these chunks; their ids, in order."""
    write = source_write(doc(name), texts, subjects=subjects, metadata=metadata)
    await stores.catalogue.put_sources(tenant, [write])
    return [chunk.id for chunk in write.chunks]


def says(chunk: ChunkId, *entities: str | tuple[str, str], facts: Sequence[Fact] = (), key: str = "key-1") -> Evidence:
    """Evidence that names these things, (name, description) or name alone, each of type `thing`."""
    named = [entity if isinstance(entity, tuple) else (entity, "") for entity in entities]
    raw = {
        "entities": [{"name": name, "type": "thing", "description": text} for name, text in named],
        "relationships": [
            {"from": from_, "type": type_, "to": to, "description": text} for from_, type_, to, text in facts
        ],
    }
    contribution = sanitise_extraction(chunk, raw)
    return Evidence(chunk, key, ExtractionState.DONE if contribution.entities else ExtractionState.EMPTY, contribution)


def failed(chunk: ChunkId, key: str = "key-1") -> Evidence:
    return Evidence(chunk, key, ExtractionState.FAILED, Contribution())


async def exported(graph: GraphStore, tenant: TenantId) -> Contribution:
    """The whole merged graph, in the order of its pages."""
    pages = [page async for page in graph.export_graph(tenant)]
    return Contribution(
        tuple(entity for page in pages for entity in page.entities),
        tuple(relationship for page in pages for relationship in page.relationships),
    )
