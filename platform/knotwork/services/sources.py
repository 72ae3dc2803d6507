"""Sources as one caller may see and change them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from knotwork.domain.catalogue import Run, SourceChange
from knotwork.domain.filters import Filter
from knotwork.domain.model import EVERYONE, ParsedText, Source, SourceRef, Subject
from knotwork.domain.retrieval import Reader
from knotwork.errors import NotFound
from knotwork.ports.catalogue import Catalogue
from knotwork.ports.ledger import Ledger
from knotwork.ports.vector_store import View
from knotwork.services.intake import Intake

SUBMITTED = 10_000  # runs of which it is remembered who submitted them
LOOK_UPS = 8  # sources looked up at once


@dataclass(frozen=True, slots=True)
class Page:
    """Runs, newest first, and the id after which the next page begins (None: the last page)."""

    runs: Sequence[Run]
    next: str | None


class Sources:
    """Reads sources and accepts requests about them, each within what its reader may see."""

    def __init__(self, *, catalogue: Catalogue, ledger: Ledger, intake: Intake) -> None:
        self._catalogue, self._ledger, self._intake = catalogue, ledger, intake
        self._submitted: dict[str, Reader] = {}  # limited submitters by run, the latest; a restart forgets them

    async def list(
        self, reader: Reader, *, filter_: Filter | None = None, after: SourceRef | None = None, limit: int = 100
    ) -> list[Source]:
        """A page of the visible sources that meet the filter, by (type, id)."""
        view = View(reader.subjects, filter_)
        return await self._catalogue.sources(reader.tenant, view=view, after=after, limit=limit)

    async def get(self, reader: Reader, ref: SourceRef) -> tuple[Source, ParsedText]:
        """A source as it is stored, with its text.

        Raises:
            NotFound: there is no such source for this reader.
        """
        source = await self._catalogue.source(reader.tenant, ref, view=View(reader.subjects))
        parsed = await self._catalogue.text(reader.tenant, ref) if source else None
        if source is None or parsed is None:
            raise NotFound("source", ref.id)
        return source, parsed

    async def put(self, reader: Reader, source: Source, parsed: ParsedText) -> Run:
        """Accept a source with its text, in place of what it was.

        Raises:
            NotFound: there is such a source, and this reader may not see it.
            UnknownTenant: there is no such tenant.
        """
        if reader.subjects is not None:
            present = await self._intake.expected(reader.tenant, source.ref)
            if present is not None and not _sees(reader, present.auth_subjects):
                raise NotFound("source", source.ref.id)
        return self._note(reader, await self._intake.put(reader.tenant, source, parsed))

    async def update(self, reader: Reader, ref: SourceRef, change: SourceChange) -> Run:
        """Accept a change of a source's readers, metadata or graph flag.

        Raises:
            NotFound: there is no such source for this reader, nor one on its way.
        """
        await self._require(reader, ref)
        return self._note(reader, await self._intake.update(reader.tenant, ref, change))

    async def delete(self, reader: Reader, ref: SourceRef) -> Run:
        """Accept that a source goes, with all that only it said.

        Raises:
            NotFound: there is no such source for this reader, nor one on its way.
        """
        await self._require(reader, ref)
        return self._note(reader, await self._intake.delete(reader.tenant, ref))

    async def run(self, reader: Reader, run_id: str) -> Run:
        """A run about a source that this reader may see now, or that the same reader submitted lately.

        Raises:
            NotFound: there is no such run for this reader.
            StoreUnavailable: the store does not answer, and it is not known who may see the source.
        """
        run = self._intake.under_way(reader.tenant, run_id) or await self._ledger.run(reader.tenant, run_id)
        if run is None or not await self._sees_run(reader, run):
            raise NotFound("job", run_id)
        return run

    async def runs(self, reader: Reader, *, after: str | None = None, limit: int = 100) -> Page:
        """The next `limit` runs older than `after` that this reader may see: neither how many are read nor where a page
        ends may tell of others.
        """
        own = [id_ for id_, submitter in self._submitted.items() if submitter == reader]
        found: list[Run] = []
        while len(found) < limit:
            page = await self._ledger.runs(
                reader.tenant, subjects=reader.subjects, others=own, after=after, limit=limit
            )
            found += await self._visible_runs(reader, page)
            if len(page) < limit:
                break
            after = page[-1].id
        found = found[:limit]
        return Page(found, found[-1].id if len(found) == limit else None)

    async def _visible_runs(self, reader: Reader, runs: Sequence[Run]) -> list[Run]:
        gate = asyncio.Semaphore(LOOK_UPS)

        async def look(run: Run) -> bool:
            async with gate:
                return await self._sees_run(reader, run)

        seen = await asyncio.gather(*map(look, runs))
        return [run for run, is_seen in zip(runs, seen, strict=True) if is_seen]

    async def _sees_run(self, reader: Reader, run: Run) -> bool:
        """Whether the reader may see the run's source as it is to be: readers may have changed since it was accepted.

        Of a source that is gone nobody knows who might see it, so its runs are for callers without limits.
        """
        if reader.subjects is None or self._submitted.get(run.id) == reader:
            return True
        present = await self._intake.expected(reader.tenant, run.ref)
        return present is not None and _sees(reader, present.auth_subjects)

    def _note(self, reader: Reader, run: Run) -> Run:
        """Remember who submitted a run, who may follow it also where the source is for others."""
        if reader.subjects is not None and set(reader.subjects) != {EVERYONE}:  # those are many callers, not one
            self._submitted[run.id] = reader
            if len(self._submitted) > SUBMITTED:
                del self._submitted[next(iter(self._submitted))]
        return run

    async def _require(self, reader: Reader, ref: SourceRef) -> None:
        if reader.subjects is None:
            return  # the intake looks whether there is such a source
        present = await self._intake.expected(reader.tenant, ref)
        if present is None or not _sees(reader, present.auth_subjects):
            raise NotFound("source", ref.id)


def _sees(reader: Reader, subjects: Sequence[Subject]) -> bool:
    return reader.subjects is None or not {*reader.subjects, EVERYONE}.isdisjoint(subjects)
