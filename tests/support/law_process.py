"""Services in processes of their own, forked from one that has imported everything: `python -m support.law_process`.

Each line of standard input is a list of errands; each has a process that does it and ends, or is killed on the way, and
a line tells which. A fork takes some milliseconds, where a new interpreter takes seconds.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from knotwork.adapters.models.pooled_chunker import cut
from knotwork.adapters.neo4j.embedded import Neo4jAddress
from knotwork.domain.catalogue import TenantSettings
from knotwork.domain.model import ParsedText, SourceRef, TenantId
from knotwork.errors import NotFound
from support.crashing import Dying, Plan
from support.law import Document, Holding, Key, PerTenant, Service, build_service
from support.stack import CHUNK_TOKENS, open_stores


@dataclass(frozen=True, slots=True)
class Errand:
    """Carry out what the ledger holds for these tenants, and what is requested.

    With holdings they are indexed afresh, exported and forgotten. `requests` are of the first tenant: a name with a
    document, or None to delete it; each is sent when the one before is accepted, from the time `begin_at` on. `die_at`
    and `when` are those of a crashing `Plan`. Calls of extractors are appended to a file, and so are exports.
    """

    bolt_uri: str
    user: str
    password: str
    folder: str
    tenants: Sequence[str]
    out_file: str
    die_at: int = 0
    when: str = "after"
    failing: Sequence[str] = ()
    holdings: Sequence[Mapping[str, Any]] = ()
    requests: Sequence[tuple[str, Mapping[str, Any] | None]] = ()
    begin_at: float = 0.0
    seed: int = 0
    model: int = 1  # version of the embedder, where a store is new
    concurrency: int = 1


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the process ended: `killed`, or after so many port calls."""

    killed: bool
    port_calls: int = 0
    error: str = ""


@dataclass(slots=True)
class Processes:
    """The parent of the forks, as its clients see it; it has a hash seed of its own."""

    hash_seed: int
    _process: subprocess.Popen[str] = field(init=False)

    def __post_init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "support.law_process"],
            cwd=Path(__file__).parents[1],
            env=os.environ | {"PYTHONHASHSEED": str(self.hash_seed)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, *errands: Errand) -> list[Outcome]:
        """Have them done at the same time; returns when all processes have ended."""
        assert self._process.stdin
        assert self._process.stdout
        print(json.dumps([asdict(errand) for errand in errands]), file=self._process.stdin, flush=True)
        outcomes = [Outcome(**values) for values in json.loads(self._process.stdout.readline())]
        for outcome in outcomes:
            assert not outcome.error, outcome.error
        return outcomes

    def close(self) -> None:
        with self._process:
            self._process.terminate()


async def carry_out(errand: Errand) -> int:
    """Do it in this process; how many port calls it took."""
    address = Neo4jAddress(errand.bolt_uri, "", errand.user, errand.password, 0, Path())
    plan = Plan(
        errand.bolt_uri, errand.user, errand.password, errand.folder, "", "", die_at=errand.die_at, when=errand.when
    )
    dying = Dying(plan)
    tenants = [TenantId(name) for name in errand.tenants]
    with Path(errand.out_file).open("a", encoding="utf-8") as out:  # noqa: ASYNC230 - a few lines

        def note(key: Key) -> None:
            print(json.dumps(key), file=out, flush=True)  # in the system's hands before a kill

        extractors = PerTenant((lambda _: None) if errand.holdings else note)
        extractors.failing |= set(errand.failing)
        async with open_stores(address, Path(errand.folder), model=errand.model) as stores:
            service = build_service(stores, tenants, extractors, wrap=dying.port, concurrency=errand.concurrency)
            holdings = [_holding(values) for values in errand.holdings]
            for tenant, holding in zip(tenants, holdings, strict=bool(holdings)):
                await service.settings.put(tenant, holding.settings)
            for tenant in tenants:
                await service.stack.intake.pause(tenant, paused=False)
            await service.start()
            for tenant, holding in zip(tenants, holdings, strict=bool(holdings)):
                documents = list(holding.documents.items())
                random.Random(errand.seed).shuffle(documents)
                await asyncio.gather(*(service.put(tenant, name, document) for name, document in documents))
            await asyncio.sleep(max(0.0, errand.begin_at - time.time()))
            for name, values in errand.requests:
                await _ask(service, tenants[0], name, values)
            await service.settle()
            for tenant, _ in zip(tenants, holdings, strict=bool(holdings)):
                print(json.dumps((await service.export(tenant)).decode("utf-8", "surrogatepass")), file=out)
                await service.settings.delete(tenant)
            await service.stack.intake.stop()
    if errand.holdings:
        shutil.rmtree(errand.folder)
    return dying.calls


def _holding(values: Mapping[str, Any]) -> Holding:
    documents = {name: _document(document) for name, document in values["documents"].items()}
    return Holding(TenantSettings(**values["settings"]), documents)


def _document(values: Mapping[str, Any]) -> Document:
    known: dict[str, Any] = {**values, "paragraphs": tuple(values["paragraphs"]), "subjects": tuple(values["subjects"])}
    return Document(**known)


async def _ask(service: Service, tenant: TenantId, name: str, values: Mapping[str, Any] | None) -> None:
    if values is not None:
        await service.put(tenant, name, _document(values))
        return
    with suppress(NotFound):  # another process deleted it
        await service.stack.intake.delete(tenant, SourceRef("document", name))


def _serve() -> None:
    cut(ParsedText("Words."), SourceRef("document", "any"), CHUNK_TOKENS, 0)  # loads the tokenizer, once for all forks
    for line in sys.stdin:
        forks = [_fork(Errand(**values)) for values in json.loads(line)]
        print(json.dumps([asdict(_outcome(*fork)) for fork in forks]), flush=True)  # noqa: T201 - the parent reads it


def _fork(errand: Errand) -> tuple[int, int]:
    """The process that does it, and where it says how it went."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _in_child(errand, writing)
    os.close(writing)
    return child, reading


def _outcome(child: int, reading: int) -> Outcome:
    with os.fdopen(reading, encoding="utf-8") as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return Outcome(killed=True)
    if status:
        return Outcome(killed=False, error=said or f"ended with status {status}")
    return Outcome(killed=False, port_calls=int(said))


def _in_child(errand: Errand, writing: int) -> NoReturn:
    """Do it and end: the loop of the parent is not this process's."""
    os.dup2(2, 1)  # what is logged is no answer
    code, said = 1, ""
    try:
        said = str(asyncio.run(carry_out(errand)))
        code = 0
    except BaseException:  # noqa: BLE001 - whatever it is, the parent tells
        said = traceback.format_exc()
    os.write(writing, said.encode())
    os._exit(code)


if __name__ == "__main__":
    _serve()
