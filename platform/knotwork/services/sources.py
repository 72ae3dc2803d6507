"""Sources as one caller may see and change them."""

from __future__ import annotations

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


@dataclass(frozen=True, slots=True)
class Page:
    """Runs, newest first, and the id after which the next page begins (None: the last page)."""

    runs: Sequence[Run]
    next: str | None


class Sources:
    """Reads sources and accepts requests about them, each within what its reader may see."""

    def __init__(self, *, catalogue: Catalogue, ledger: Ledger, intake: Intake) -> None:
        self._catalogue, self._ledger, self._intake = catalogue, ledger, intake

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
        return await self._intake.put(reader.tenant, source, parsed)

    async def update(self, reader: Reader, ref: SourceRef, change: SourceChange) -> Run:
        """Accept a change of a source's readers, metadata or graph flag.

        Raises:
            NotFound: there is no such source for this reader, nor one on its way.
        """
        await self._require(reader, ref)
        return await self._intake.update(reader.tenant, ref, change)

    async def delete(self, reader: Reader, ref: SourceRef) -> Run:
        """Accept that a source goes, with all that only it said.

        Raises:
            NotFound: there is no such source for this reader, nor one on its way.
        """
        await self._require(reader, ref)
        return await self._intake.delete(reader.tenant, ref)

    async def run(self, reader: Reader, run_id: str) -> Run:
        """A run about a source that this reader might see when it was accepted.

        Raises:
            NotFound: there is no such run for this reader.
        """
        run = self._intake.under_way(reader.tenant, run_id) or await self._ledger.run(reader.tenant, run_id)
        if run is None or not _sees(reader, run.seen_by):
            raise NotFound("job", run_id)
        return run

    async def runs(self, reader: Reader, *, after: str | None = None, limit: int = 100) -> Page:
        """The runs that this reader may see, of the tenant's next `limit` runs older than `after`."""
        runs = await self._ledger.runs(reader.tenant, after=after, limit=limit)
        visible = [run for run in runs if _sees(reader, run.seen_by)]
        return Page(visible, runs[-1].id if len(runs) == limit else None)

    async def _require(self, reader: Reader, ref: SourceRef) -> None:
        if reader.subjects is None:
            return  # the intake looks whether there is such a source
        present = await self._intake.expected(reader.tenant, ref)
        if present is None or not _sees(reader, present.auth_subjects):
            raise NotFound("source", ref.id)


def _sees(reader: Reader, subjects: Sequence[Subject]) -> bool:
    return reader.subjects is None or not {*reader.subjects, EVERYONE}.isdisjoint(subjects)
