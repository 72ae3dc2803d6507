"""Sends sources to the service and follows their jobs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from knotwork.cli.client import Client, Json, Refused, source_path
from knotwork.cli.output import Progress
from knotwork.cli.plan import BytesItem, FileItem, Item, Problem, RowItem
from knotwork.domain.normalise import clean_text

SENT_AT_ONCE = 16
LONG_SOURCE = 30  # chunks; of such a source its own progress is shown
UNDER_WAY = 128  # sources accepted and not finished: two of the service's batches, so that it is never idle


@dataclass(frozen=True, slots=True)
class Said:
    """What the user says of every source sent."""

    source_type: str
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    subjects: tuple[str, ...] | None = None  # None: everyone
    graph: bool | None = None  # None: as the tenant has it


@dataclass(slots=True)
class Report:
    """What became of the sources sent."""

    accepted: set[str] = field(default_factory=set[str])  # source ids that the service sees through without us
    finished: dict[str, Json] = field(default_factory=dict[str, Json])  # source id → result of its job
    chunks: int = 0  # that the finished sources have now
    problems: list[Problem] = field(default_factory=list[Problem])
    failed_runs: int = 0  # accepted sources whose job failed; each is one of the problems
    left: int = 0  # not sent, as the user interrupted

    @property
    def pending(self) -> int:
        """Accepted sources whose end was not waited for."""
        return len(self.accepted) - len(self.finished) - self.failed_runs

    def total(self, name: str) -> int:
        """Sum of a field of the results, of their graph part for a name with `graph.` before it."""
        part, _, key = name.rpartition(".")
        return sum((result[part] if part else result)[key] for result in self.finished.values())

    def naming(self, name: str) -> dict[str, int]:
        """Sources with a count above 0 in a field of their result's graph part."""
        return {id_: result["graph"][name] for id_, result in sorted(self.finished.items()) if result["graph"][name]}

    @property
    def unchanged(self) -> int:
        """Sources whose chunks are as they were before."""
        return sum(not result["written"] and not result["removed"] for result in self.finished.values())


class Sender:
    """Sends items; a stop lets what is on its way arrive, and sends no more."""

    def __init__(self, client: Client, said: Said, progress: Progress) -> None:
        self._client, self._said, self._progress = client, said, progress
        self._sending, self._under_way = asyncio.Semaphore(SENT_AT_ONCE), asyncio.Semaphore(UNDER_WAY)
        self._stop = asyncio.Event()
        self._done = 0
        self._total = 0
        self.report = Report()

    def stop(self) -> None:
        """Send no more and wait for no job: the service finishes what it accepted."""
        self._stop.set()

    async def send(self, items: Sequence[Item]) -> Report:
        """Send every item in order, several at once, and wait until each is indexed or has failed.

        Raises:
            Unreachable: the service went away.
        """
        self._total = len(items)
        self._progress(0, self._total)
        remaining = iter(items)
        try:
            async with asyncio.TaskGroup() as group:
                for position, item in enumerate(remaining):
                    await self._under_way.acquire()
                    if self._stop.is_set():
                        self.report.left = self._total - position
                        break
                    group.create_task(self._one(item))
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from None  # one stands for all: they have one cause
        return self.report

    async def _one(self, item: Item) -> None:
        try:
            async with self._sending:
                if self._stop.is_set():
                    self.report.left += 1
                    return
                job = await self._put(item)
                self.report.accepted.add(item.id)
            await self._unless_stopped(self._follow(item, job))
        except Refused as refusal:
            self.report.problems.append(Problem(item.id, refusal.code, str(refusal)))
        except OSError as error:
            self.report.problems.append(Problem(item.id, "unreadable", f"it cannot be read ({error.strerror})"))
        finally:
            self._under_way.release()
            self._done += 1
            self._progress(self._done, self._total)

    async def _put(self, item: Item) -> Json:
        said = self._said
        if isinstance(item, RowItem):
            body: Json = {"text": item.text, "metadata": {**item.metadata, **said.metadata}, "graph": said.graph}
            body |= {"title": item.title} if item.title else {}
            body |= {"auth_subjects": list(said.subjects)} if said.subjects is not None else {}
            return await self._client.put_text(said.source_type, item.id, body)
        name, data = await asyncio.to_thread(_load, item)
        fields = {"metadata": json.dumps(dict(said.metadata))}
        fields |= {"auth_subjects": json.dumps(said.subjects)} if said.subjects is not None else {}
        fields |= {"graph": json.dumps(said.graph)} if said.graph is not None else {}
        return await self._client.put_file(said.source_type, item.id, name=name, data=data, fields=fields)

    async def _follow(self, item: Item, job: Json) -> None:
        def show(state: Json) -> None:
            if (total := state.get("chunks_total", 0)) >= LONG_SOURCE:
                self._progress(self._done, self._total, f"{item.id}: {state['chunks_done']} of {total} chunks")

        job = await self._client.finished(job["id"], show)
        if job["state"] != "done":
            error = job["error"] or {"code": job["state"], "message": "somebody cancelled its job"}
            self.report.failed_runs += 1
            self.report.problems.append(Problem(item.id, error["code"], error["message"]))
            return
        source = await self._client.get(source_path(self._said.source_type, item.id))
        self.report.chunks += source["chunks"]
        self.report.finished[item.id] = job["result"]

    async def _unless_stopped(self, work: Any) -> None:
        """Wait for work, or for the stop, whichever comes first."""
        working, stopping = asyncio.ensure_future(work), asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait([working, stopping], return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                working.result()
        finally:
            for task in (working, stopping):
                task.cancel()
            await asyncio.gather(working, stopping, return_exceptions=True)


def _load(item: FileItem | BytesItem) -> tuple[str, bytes]:
    if isinstance(item, BytesItem):
        return item.id, item.data
    return clean_text(item.path.name), item.path.read_bytes()
