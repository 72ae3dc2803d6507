"""Services as processes over one Neo4j, each with vectors of its own: what they leave in it is what one would leave."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from knotwork.adapters.memory.models import HashEmbedder
from knotwork.adapters.neo4j.audit import Neo4jAudit
from knotwork.adapters.neo4j.catalogue import Neo4jCatalogue
from knotwork.adapters.neo4j.embedded import Neo4jAddress
from knotwork.adapters.neo4j.graph_store import Neo4jGraphStore
from knotwork.adapters.neo4j.ledger import Neo4jLedger
from knotwork.adapters.qdrant.edge_store import EdgeVectorStore
from knotwork.domain.catalogue import RunState, TenantSettings
from knotwork.domain.export import from_line
from knotwork.services.export import Exporter
from support.law import Document, Holding, about_all_five
from support.law_machine import HASH_SEED
from support.law_process import Errand, Processes
from support.stack import TextChunker
from support.stores import neo4j_session, new_tenant

pytestmark = pytest.mark.neo4j

SETTINGS = TenantSettings(graph=True, extraction_model="a1")
WRITERS = 8
TOGETHER_S = 1.5  # from the order to the first request: until every process is up

Request = tuple[str, Document | None]


class Writers:
    """One tenant, and the processes that write to it."""

    def __init__(self, address: Neo4jAddress, folder: Path, processes: Processes) -> None:
        self.tenant = new_tenant()
        self._address, self._folder, self._processes = address, folder, processes

    def write(self, *requests: Sequence[Request]) -> None:
        """Each list of requests by a process of its own, all at the same time; all are over when this returns."""
        begin_at = time.time() + TOGETHER_S
        self._processes.run(
            *(
                replace(
                    self._errand(self.tenant, f"writer-{number}"),
                    requests=[(name, asdict(document) if document else None) for name, document in own],
                    begin_at=begin_at,
                )
                for number, own in enumerate(requests)
            )
        )

    def serial(self, documents: Mapping[str, Document]) -> bytes:
        """What one process makes of these documents."""
        errand = replace(
            self._errand(f"{self.tenant}-fresh", "fresh"), holdings=[asdict(Holding(SETTINGS, dict(documents)))]
        )
        self._processes.run(errand)
        return json.loads(Path(errand.out_file).read_text(encoding="utf-8").splitlines()[-1]).encode()

    async def exported(self) -> bytes:
        """What they have left; no run has failed, and the graph is what its evidence makes."""
        async with neo4j_session(self._address) as session:
            runs = await Neo4jLedger(session).runs(self.tenant, limit=1000)
            assert {run.state for run in runs} == {RunState.DONE}, [run for run in runs if run.error]
            assert [damage async for damage in Neo4jAudit(session).damages(self.tenant)] == []
            exporter = Exporter(
                catalogue=Neo4jCatalogue(session),
                graph=Neo4jGraphStore(session),
                vectors=EdgeVectorStore(self._folder / "none"),  # no part of an export
                embedder=HashEmbedder(),
                chunker=TextChunker(),
                hold=lambda _: nullcontext(),
            )
            return b"".join([line async for line in exporter.export(self.tenant)])

    async def begin(self) -> None:
        async with neo4j_session(self._address) as session:
            await Neo4jCatalogue(session).put_tenant(self.tenant, SETTINGS)

    async def forget(self) -> None:
        async with neo4j_session(self._address) as session:
            await Neo4jCatalogue(session).delete_tenant(self.tenant)

    def _errand(self, tenant: str, home: str) -> Errand:
        address = self._address
        folder = self._folder / home
        folder.mkdir(exist_ok=True)
        return Errand(
            address.bolt_uri, address.user, address.password, str(folder / "stores"), [tenant], str(folder / "out")
        )


@pytest.fixture(scope="module")
def processes() -> Iterator[Processes]:
    processes = Processes(HASH_SEED)
    yield processes
    processes.close()


@pytest.fixture
async def writers(neo4j_server: Neo4jAddress, tmp_path: Path, processes: Processes) -> AsyncGenerator[Writers]:
    writers = Writers(neo4j_server, tmp_path, processes)
    await writers.begin()
    yield writers
    await writers.forget()


async def test_eight_processes_write_about_the_same_five_in_opposite_order(writers: Writers) -> None:
    names = [f"{writer}.md" for writer in range(WRITERS)]
    own = [[(name, about_all_five(writer, version)) for version in (3, 4)] for writer, name in enumerate(names)]
    writers.write(*own)
    documents = {name: about_all_five(writer, 4) for writer, name in enumerate(names)}
    assert (await writers.exported()).splitlines() == writers.serial(documents).splitlines()


async def test_processes_that_replace_one_source_while_others_delete_it_leave_one_of_both(writers: Writers) -> None:
    replacing = [[("a.md", about_all_five(writer, version)) for version in (3, 4, 5)] for writer in (0, 1)]
    deleting: list[Request] = [("a.md", None)] * 5
    writers.write([*replacing[0], ("b.md", about_all_five(2, 3))], replacing[1], deleting, deleting)
    exported = (await writers.exported()).splitlines()
    texts = {record["id"]: record["text"] for record in map(from_line, exported) if record["kind"] == "source"}
    sent = [request for own in replacing for request in own]
    left = {name: document for name, document in sent if document.parsed.text == texts.get(name)}
    assert left.keys() | {"b.md"} == texts.keys()
    assert exported == writers.serial({**left, "b.md": about_all_five(2, 3)}).splitlines()
