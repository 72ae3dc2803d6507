"""Running statements that others wrote: explained first, then read only, under limits that the database enforces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from knotwork.domain.cypher_plan import PlanStep
from knotwork.domain.model import Subject, TenantId


@dataclass(frozen=True, slots=True)
class TraversalFile:
    """A file of a traversals' folder. `text` None: it could not be read, and `trouble` says why."""

    name: str
    text: str | None
    is_shipped: bool
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Explained:
    """What the database would do: its plan, the columns of the result, and whether it only reads."""

    plan: PlanStep
    columns: tuple[str, ...]
    only_reads: bool


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of plain values (JSON), and whether there are more."""

    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    has_more: bool


class TraversalRunner(Protocol):
    """Every method raises StoreUnavailable when the store does not answer."""

    async def explain(self, statement: str) -> Explained:
        """The plan of a statement, which is not run.

        Raises:
            InvalidInput: the database does not understand it; the message is the database's.
        """
        ...

    async def audiences(self, tenant: TenantId, subjects: Sequence[Subject] | None) -> tuple[str, ...]:
        """The audiences that these subjects belong to, sorted; None: the operator, who belongs to all."""
        ...

    async def run(self, statement: str, parameters: Mapping[str, object], *, rows: int, timeout_s: float) -> Rows:
        """Run a statement in a transaction that cannot write, and return its first `rows` rows, in its order.

        A node or relationship is returned by its id, type and labels alone: its other properties are merged from all
        evidence, whoever reads.

        Raises:
            LimitReached: it took more time or memory than it may.
            InvalidInput: it fails on these parameters.
        """
        ...
