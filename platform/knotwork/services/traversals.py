"""Traversals: files, checked when the service starts, that answer at an address of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import structlog

from knotwork.domain.cypher_plan import refusal
from knotwork.domain.model import TenantId
from knotwork.domain.normalise import clean_text
from knotwork.domain.retrieval import Reader
from knotwork.domain.saved_query import saved_query
from knotwork.domain.traversals import ParameterType, Traversal, TraversalScope, read_traversal
from knotwork.errors import (
    EverySourceNeeded,
    InvalidInput,
    NotAllowed,
    NotFound,
    StoreUnavailable,
    TraversalRefused,
)
from knotwork.ports.traversals import Rows, TraversalFile, TraversalRunner
from knotwork.ports.vector_store import View
from knotwork.services.naming import Naming

log = structlog.get_logger(__name__)

DEFAULT_ROWS = 100


@dataclass(frozen=True, slots=True)
class Entry:
    """A file and what became of it: `refused` is the reason why it does not run."""

    name: str
    is_shipped: bool
    traversal: Traversal | None = None
    refused: str | None = None
    is_checked: bool = False  # its plan was seen


class Traversals:
    """The files that were found at the start, by name; where two have one name, the shipped one counts."""

    def __init__(
        self,
        runner: TraversalRunner,
        naming: Naming,
        files: Sequence[TraversalFile],
        *,
        max_rows: int,
        timeout_s: float,
    ) -> None:
        self._runner, self._naming, self._timeout_s = runner, naming, timeout_s
        self.max_rows = max_rows
        self._entries: dict[str, Entry] = {}
        for file in sorted(files, key=lambda one: (not one.is_shipped, one.name)):
            name = clean_text(file.name)[:200]
            if name in self._entries:
                log.warning("traversal_refused", name=name, reason="a shipped traversal has this name")
                name = f"{name} (yours)"
                self._entries[name] = Entry(name, False, refused="a shipped traversal has this name; rename the file")
                continue
            self._entries[name] = _read(name, file)

    async def check(self) -> None:
        """Have every file explained; one that is refused is named in the log, and does not stop the others."""
        for name in self._entries:
            try:
                await self._checked(name)
            except StoreUnavailable as error:
                log.warning("traversal_unchecked", name=name, reason=str(error), then="it is checked before it runs")

    def entries(self, *, with_refused: bool) -> list[Entry]:
        """Every file, by name; without those refused, and those that only the operator runs, unless asked for."""
        return [
            entry
            for _, entry in sorted(self._entries.items())
            if with_refused
            or (entry.traversal and not entry.refused and entry.traversal.scope is TraversalScope.TENANT)
        ]

    def saved_queries(self, tenant: TenantId) -> dict[str, str]:
        """Those that run as queries for Neo4j Browser, by name, showing this tenant."""
        return {
            entry.name: saved_query(entry.traversal, tenant=tenant)
            for entry in self._entries.values()
            if entry.traversal and entry.is_checked and not entry.refused
        }

    async def run(
        self,
        reader: Reader,
        name: str,
        given: Mapping[str, object],
        *,
        limit: int = DEFAULT_ROWS,
        is_operator: bool = False,
    ) -> tuple[Traversal, Rows]:
        """The first `limit` rows that this reader may see.

        Raises:
            NotFound: there is no traversal of this name, or no entity of one given.
            TraversalRefused: its file is not as it must be.
            NotAllowed: it is the operator's.
            EverySourceNeeded: it does not ask who reads, and the reader is one of some subjects.
            InvalidInput: a parameter is unknown, missing, of another type or out of bounds.
            AmbiguousName: an entity's name has several types.
            LimitReached: it took more time or memory than it may.
        """
        if not 1 <= limit <= self.max_rows:
            raise InvalidInput(f"limit is {limit}; it must be 1 to {self.max_rows}")
        traversal = await self._runnable(name, is_operator=is_operator)
        if reader.subjects is not None and not traversal.uses_audiences:
            # Also where all is open to this reader: an answer that came and went would tell of sources that it hides.
            raise EverySourceNeeded(traversal.name)
        values = await self._resolved(reader, traversal, traversal.values(given))
        audiences = await self._runner.audiences(TenantId(reader.tenant), reader.subjects)
        # One row more is asked for, so that it is known whether there are more.
        fixed = {"tenant": reader.tenant, "audiences": list(audiences), "limit": limit + 1}
        return traversal, await self._runner.run(
            traversal.statement, values | fixed, rows=limit, timeout_s=self._timeout_s
        )

    async def _runnable(self, name: str, *, is_operator: bool) -> Traversal:
        if name not in self._entries:
            raise NotFound("traversal", clean_text(name)[:200])
        entry = await self._checked(name)
        if entry.refused or entry.traversal is None:
            raise TraversalRefused(name, entry.refused or "")
        if entry.traversal.scope is TraversalScope.OPERATOR and not is_operator:
            raise NotAllowed(f"traversal {name!r} reads more than one tenant; only the operator may run it")
        return entry.traversal

    async def _resolved(self, reader: Reader, traversal: Traversal, values: dict[str, object]) -> dict[str, object]:
        """Names of entities as ids."""
        for parameter in traversal.parameters:
            if parameter.type is ParameterType.ENTITY:
                text = str(values[parameter.name])
                entity = await self._naming.entity(reader, text, view=View(reader.subjects))
                values[parameter.name] = entity.id
        return values

    async def _checked(self, name: str) -> Entry:
        """The entry, with its plan judged; one refused is judged anew, as plans change with what is stored.

        Raises:
            StoreUnavailable: Neo4j does not answer.
        """
        entry = self._entries[name]
        if entry.traversal is None or (entry.is_checked and not entry.refused):
            return entry
        try:
            explained = await self._runner.explain(entry.traversal.statement)
            reason = refusal(explained.plan, entry.traversal.scope, only_reads=explained.only_reads)
            declared = tuple(column.name for column in entry.traversal.columns)
            if reason is None and explained.columns != declared:
                reason = f"its result is ({', '.join(explained.columns)}), its header declares ({', '.join(declared)})"
        except InvalidInput as error:
            reason = str(error)
        if reason:
            log.warning("traversal_refused", name=name, reason=reason)
        self._entries[name] = Entry(name, entry.is_shipped, entry.traversal, reason, is_checked=True)
        return self._entries[name]


def _read(name: str, file: TraversalFile) -> Entry:
    if file.text is None:
        log.warning("traversal_refused", name=name, reason=file.trouble)
        return Entry(name, file.is_shipped, refused=file.trouble)
    try:
        return Entry(name, file.is_shipped, read_traversal(name, file.text))
    except InvalidInput as error:
        log.warning("traversal_refused", name=name, reason=str(error))
        return Entry(name, file.is_shipped, refused=str(error))
