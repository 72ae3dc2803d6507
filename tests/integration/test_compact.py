"""Compaction of both embedded stores, in a home of its own: what was deleted is in no file, and all goes on."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from knotwork.adapters.neo4j.audit import Neo4jAudit
from knotwork.adapters.neo4j.compaction import Neo4jCompaction
from knotwork.adapters.neo4j.embedded import EmbeddedNeo4j
from knotwork.adapters.neo4j.server_home import ServerHome
from knotwork.domain.model import ParsedText, Source, SourceRef
from knotwork.domain.retrieval import Mode
from knotwork.ports.vector_store import Collection
from knotwork.services.compact import Compaction
from knotwork.services.export import Exporter
from knotwork.services.vector_sync import VectorSync
from knotwork.services.verify import Verifier
from support.command_line import QUICK_JAVA
from support.stack import SentenceExtractor, Stack, Stores, TextChunker, open_stack, open_stores

pytestmark = pytest.mark.neo4j

# Words long and odd enough that no file holds them by chance, nor packs them into a property record as a short string.
SECRET, SHARED = "Xanthoproteinuria-of-Vladimir-Krasnopolsky", "Hospital-of-Saint-Bartholomew-in-the-Fields"


@dataclass(frozen=True, slots=True)
class Home:
    path: Path
    server: EmbeddedNeo4j
    stores: Stores
    stack: Stack


@pytest.fixture
async def home(tmp_path: Path) -> AsyncGenerator[Home]:
    copy = tmp_path / "neo4j" / "copy"
    (copy / "neo4j" / "data").mkdir(parents=True)  # as a process leaves it that is killed while it compacts
    cache = os.environ.get("KNOTWORK_NEO4J_CACHE")
    server = EmbeddedNeo4j(tmp_path, cache=Path(cache) if cache else None, java_options=QUICK_JAVA)
    address = await server.start()
    assert not copy.exists()
    try:
        async with open_stores(address, tmp_path) as stores, open_stack(stores, SentenceExtractor()) as stack:
            yield Home(tmp_path, server, stores, stack)
    finally:
        await server.stop()


def files_with(folder: Path, words: Sequence[str]) -> dict[str, list[str]]:
    """Files that hold one of the words as UTF-8, UTF-16 in either order, in any case; by word."""
    found: dict[str, list[str]] = {}
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        content = path.read_bytes().lower()
        for word in words:
            forms = [word.lower().encode(encoding) for encoding in ("utf-8", "utf-16-le", "utf-16-be")]
            if any(form in content for form in forms):
                found.setdefault(word, []).append(str(path.relative_to(folder)))
    return found


async def exported(stack: Stack) -> list[bytes]:
    exporter = Exporter(
        catalogue=stack.catalogue,
        graph=stack.graph,
        vectors=stack.vectors,
        embedder=stack.embedder,
        chunker=TextChunker(),
        hold=stack.intake.hold,
    )
    return [line async for line in exporter.export(stack.tenant)]


async def test_what_was_deleted_is_in_no_file_of_the_home_after_compacting(home: Home) -> None:
    stack, stores = home.stack, home.stores
    await stack.put("kept.md", f"{SHARED} treats Patients. It has done so for nine hundred years.", metadata={"n": 1})
    await stack.put(
        "gone.md",
        f"{SECRET} befell {SHARED}. Nobody there had ever heard of {SECRET} before that day.",
        title=f"About {SECRET}",
        metadata={"subject": SECRET},
        subjects=("group:sre",),
    )
    await home.server.stop(force=True)  # which writes what is in memory and in the log to the store's files; Community
    await home.server.start()  # has no procedure for it
    await stack.delete("gone.md")
    before, points = await exported(stack), [await stack.points(collection) for collection in Collection]
    left = files_with(home.path, [SECRET])
    # Else this test would prove nothing: a delete alone leaves the text in both stores' files and logs.
    assert any(name.startswith("qdrant") for name in left[SECRET]), left
    assert any(name.startswith("neo4j/data/transactions") for name in left[SECRET]), left
    assert any(name.startswith("neo4j/data/databases") for name in left[SECRET]), left

    compaction = Compaction(intake=stack.intake, stores=[stores.vectors, Neo4jCompaction(home.server, stores.session)])
    compacted = await compaction.compact()

    assert [one.store for one in compacted] == ["Qdrant Edge", "Neo4j"]
    assert files_with(home.path, [SECRET]) == {}
    assert SHARED in files_with(home.path, [SHARED])
    assert await exported(stack) == before
    assert [await stack.points(collection) for collection in Collection] == points
    assert {path.name for path in (home.path / "neo4j").iterdir()} >= {"data", "conf"}
    assert not (home.path / "neo4j" / "data.replaced").exists()
    await goes_on(home)


async def goes_on(home: Home) -> None:
    """Writes, searches and constraints work on what was compacted, and the stores agree."""
    stack = home.stack
    result = await stack.put("new.md", f"{SHARED} hires Doctors.")
    assert (result.written, result.graph.relationships) == (1, 1)
    assert set(await stack.found("Doctors", Mode.KEYWORD)) == {"new.md"}
    assert "kept.md" in await stack.found("Patients", Mode.LOCAL)
    verifier = Verifier(
        catalogue=stack.catalogue,
        graph=stack.graph,
        audit=Neo4jAudit(home.stores.session),
        vectors=stack.vectors,
        embedder=stack.embedder,
        sync=VectorSync(stack.graph, stack.vectors, stack.embedder),
        hold=stack.intake.hold,
    )
    assert (await verifier.verify(stack.tenant)).is_clean
    again = Compaction(intake=stack.intake, stores=[home.stores.vectors])
    await again.compact()
    assert (await verifier.verify(stack.tenant)).is_clean


async def test_requests_wait_while_all_is_held_and_are_served_after(home: Home) -> None:
    stack = home.stack
    source = Source(SourceRef("document", "late.md"), "Late", "")
    async with stack.intake.hold_all():
        waiting = asyncio.create_task(stack.intake.put(stack.tenant, source, ParsedText("Ada knows Bob.", "Late")))
        await asyncio.sleep(0.2)
        assert not waiting.done()
        assert await stack.ledger.runs(stack.tenant) == []
    await stack.finished(await waiting)
    assert await stack.found("Bob", Mode.KEYWORD) == ["late.md"]


def test_data_that_a_crash_left_replaced_is_taken_back_or_away(tmp_path: Path) -> None:
    home = ServerHome(tmp_path / "neo4j")
    (home.root / "data.replaced").mkdir(parents=True)
    (home.root / "data.replaced" / "store").write_text("old")
    home.create()
    assert (home.root / "data" / "store").read_text() == "old"
    (home.root / "data.replaced").mkdir()
    home.create()
    assert (home.root / "data" / "store").read_text() == "old"
    assert not (home.root / "data.replaced").exists()
