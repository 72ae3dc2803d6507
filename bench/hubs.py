"""What it does to the walk of mode local that names mentioned everywhere stay closed.

    python -m bench.hubs [--mentions 2000]

A graph in memory in which a few names stand in thousands of chunks. From one rare name the walk should reach one chunk,
three steps away. Either a chain of rare names leads there, each of which stands beside a hub too; or the only way leads
through a hub, over a relationship that one chunk asserts. Printed for walks with hubs closed and opened: how often the
chunk is among the first 5 and first 20, and how much is read.
"""

from __future__ import annotations

import argparse
import asyncio
from itertools import pairwise

from bench.support import machine, table

from knotwork.adapters.memory.catalogue import MemoryCatalogue
from knotwork.adapters.memory.database import MemoryDatabase
from knotwork.adapters.memory.graph_store import MemoryGraphStore
from knotwork.domain.catalogue import Evidence, ExtractionState, StoredChunk
from knotwork.domain.ids import chunk_id, content_hash
from knotwork.domain.model import EVERYONE, ChunkId, ParsedText, Source, SourceRef, TenantId
from knotwork.domain.retrieval import Reader
from knotwork.domain.sanitise import sanitise_extraction
from knotwork.ports.catalogue import SourceWrite
from knotwork.ports.vector_store import View
from knotwork.services import local_walk
from knotwork.services.local_walk import Walk, chunk_of, name_node

TENANT = TenantId("hubs")
HUBS = ["Hub A", "Hub B", "Hub C"]
QUESTIONS = 10  # of each kind
OPEN = 10**9  # mentions: nothing is a hub
Chunk = tuple[ChunkId, dict[str, object]]


def chunk(number: int, names: list[str]) -> Chunk:
    """A chunk that names these things and relates each to the next."""
    facts = [{"from": one, "to": other, "type": "calls"} for one, other in pairwise(names)]
    entities = [{"name": name, "type": "service"} for name in names]
    return chunk_id(REF, str(number), 0), {"entities": entities, "relationships": facts}


REF = SourceRef("document", "hubs")


def corpus(mentions: int) -> tuple[list[Chunk], dict[str, list[tuple[str, ChunkId]]]]:
    """The chunks, and for each kind of question the name to start from and the chunk to reach."""
    chunks: list[Chunk] = []
    asked: dict[str, list[tuple[str, ChunkId]]] = {"past hubs": [], "through a hub": []}

    def add(*names: str) -> ChunkId:
        chunks.append(chunk(len(chunks), [*names]))
        return chunks[-1][0]

    for number in range(mentions):
        for hub in HUBS:
            add(hub, f"Filler {number % (mentions // 4)}")
    for number in range(QUESTIONS):
        hub = HUBS[number % len(HUBS)]
        add(hub, f"Start {number}", f"Bridge {number}")
        add(hub, f"Bridge {number}", f"Goal {number}")
        asked["past hubs"].append((f"start {number}", add(f"Goal {number}", hub)))
        add(f"Origin {number}", hub)
        asked["through a hub"].append((f"origin {number}", add(hub, f"Aim {number}")))
    return chunks, asked


async def filled(chunks: list[Chunk]) -> MemoryGraphStore:
    database = MemoryDatabase()
    stored = [
        StoredChunk(id_, place, place, place + 1, content_hash(id_), embedding_key=id_)
        for place, (id_, _) in enumerate(chunks)
    ]
    source = Source(REF, "hubs", "", (EVERYONE,), {})
    await MemoryCatalogue(database).put_sources(TENANT, [SourceWrite(source, ParsedText(""), stored)])
    graph = MemoryGraphStore(database)
    await graph.put_evidence(
        TENANT,
        [Evidence(id_, id_, ExtractionState.DONE, sanitise_extraction(id_, raw)) for id_, raw in chunks],
    )
    return graph


async def reached(graph: MemoryGraphStore, start: str) -> tuple[list[ChunkId], int]:
    """The chunks by their share, and how many ties were read."""
    walk = Walk(graph, Reader(TENANT), View())
    await walk.run({name_node(start): 1.0})
    ranked = sorted(walk.ranks, key=lambda node: (-walk.ranks[node], node))
    ties = sum(len(one.chunks) + len(one.facts) for one in walk.names.values())
    return [id_ for node in ranked if (id_ := chunk_of(node))], ties + sum(
        len(one.entities) for one in walk.chunks.values()
    )


async def main(mentions: int) -> int:
    print(f"bench.hubs --mentions {mentions}: {machine()}")
    chunks, asked = corpus(mentions)
    graph = await filled(chunks)
    rows: list[list[object]] = []
    closed, cheap = local_walk.HUB_MENTIONS, local_walk.CHEAP_MENTIONS
    for kind, questions in asked.items():
        for label, bound in (("closed", closed), ("opened", OPEN)):
            local_walk.HUB_MENTIONS, local_walk.CHEAP_MENTIONS = bound, max(cheap, bound // 5)
            found = [(goal, *await reached(graph, start)) for start, goal in questions]
            among = [sum(goal in ranked[:first] for goal, ranked, _ in found) for first in (5, 20)]
            rows.append([kind, label, *among, sum(ties for _, _, ties in found) / len(found)])
    local_walk.HUB_MENTIONS, local_walk.CHEAP_MENTIONS = closed, cheap
    table(
        f"{QUESTIONS} questions of each kind, hubs of {mentions:,} mentions",
        ["the way leads", "hubs", "in 5", "in 20", "ties read"],
        rows,
    )
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mentions", type=int, default=2000)
    raise SystemExit(asyncio.run(main(parser.parse_args().mentions)))
