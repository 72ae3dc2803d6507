"""A disk that is nearly full: indexing waits and says why, reads go on, and nothing is lost."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from knotwork.adapters.memory.models import HashEmbedder
from knotwork.adapters.qdrant.edge_folder import ROOM_BYTES
from knotwork.adapters.qdrant.edge_store import EdgeVectorStore
from knotwork.domain.model import ParsedText, Source, SourceRef
from knotwork.domain.retrieval import Mode
from knotwork.errors import StoreUnavailable
from knotwork.ports.vector_store import Collection, Point
from support.small_disk import small_disk
from support.stack import SentenceExtractor, Stores, open_stack

pytestmark = pytest.mark.neo4j

DISK_KB = 300 * 1024  # an empty store takes 45 MB


async def test_indexing_waits_for_room_and_then_finishes(stores: Stores, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", DISK_KB) as disk:
        vectors = EdgeVectorStore(disk / "qdrant")
        await vectors.open()
        await vectors.prepare(model=HashEmbedder().id, dimension=HashEmbedder().dimension)
        try:
            async with open_stack(Stores(stores.session, vectors), SentenceExtractor()) as stack:
                await stack.put("a.md", "Checkout calls Ledger.")
                ballast = disk / "ballast"
                ballast.write_bytes(b"x" * (shutil.disk_usage(disk).free - ROOM_BYTES // 2))
                with pytest.raises(StoreUnavailable, match="make room"):
                    await vectors.upsert(stack.tenant, Collection.CHUNKS, [Point("x", [1.0] + [0.0] * 63, {})])
                source = Source(SourceRef("document", "b.md"), "", "")
                run = await stack.intake.put(stack.tenant, source, ParsedText("Wallet calls Vault."))
                await asyncio.sleep(1)
                assert stack.intake.under_way(stack.tenant, run.id)
                for mode in (Mode.SEMANTIC, Mode.KEYWORD, Mode.LOCAL):
                    assert await stack.found("Ledger", mode) == ["a.md"]
                ballast.unlink()
                assert (await stack.finished(run)).written == 1
                assert set(await stack.found("Vault", Mode.LOCAL)) == {"a.md", "b.md"}
        finally:
            await vectors.close()
