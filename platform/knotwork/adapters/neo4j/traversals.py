"""TraversalRunner over Neo4j 5.26 or later."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, LiteralString, cast

import structlog
from neo4j import exceptions as vendor
from neo4j import graph as vendor_graph

from knotwork.adapters.neo4j.session import Neo4jSession
from knotwork.domain.cypher_plan import PlanStep
from knotwork.domain.model import Subject, TenantId
from knotwork.errors import InvalidInput, LimitReached
from knotwork.ports.traversals import Explained, Rows

log = structlog.get_logger(__name__)

EXPLAIN_S = 30.0
OUT_OF_TIME = ("TransactionTimedOut", "TransactionTimedOutClientConfiguration", "LockAcquisitionTimeout")
# The last is of the whole server: its limit of a transaction does not count what one expression makes.
OUT_OF_MEMORY = ("MemoryPoolOutOfMemoryError", "TransactionOutOfMemoryError", "OutOfMemoryError")


class Neo4jTraversals:
    """TraversalRunner over Neo4j."""

    def __init__(self, session: Neo4jSession) -> None:
        self._session = session

    async def explain(self, statement: str) -> Explained:
        async with self._session.read_once(timeout_s=EXPLAIN_S) as tx:
            try:
                # LiteralString guards against statements made of values: this one is a file that is under examination.
                result = await tx.run(cast("LiteralString", f"EXPLAIN {statement}"))
                columns = tuple(result.keys())
                summary = await result.consume()
            except vendor.ClientError as error:
                raise InvalidInput(f"Neo4j does not accept it: {_first_line(error)}") from error
        if summary.plan is None:
            raise InvalidInput("Neo4j has no plan of it; only statements that read the graph have a place here")
        return Explained(_step(cast("Mapping[str, Any]", summary.plan)), columns, summary.query_type == "r")

    async def audiences(self, tenant: TenantId, subjects: Sequence[Subject] | None) -> tuple[str, ...]:
        if subjects is None:
            rows = await self._session.rows("read/tenant_audiences", tenant=tenant)
        else:
            rows = await self._session.rows("read/visible_audiences", tenant=tenant, subjects=list(subjects))
        return tuple(sorted(row["key"] for row in rows))

    async def run(self, statement: str, parameters: Mapping[str, object], *, rows: int, timeout_s: float) -> Rows:
        found: list[tuple[object, ...]] = []
        async with self._session.read_once(timeout_s=timeout_s, fetch_size=rows + 1) as tx:
            with _limits(timeout_s):
                result = await tx.run(cast("LiteralString", statement), dict(parameters))
                columns = tuple(result.keys())
                async for record in result:
                    found.append(tuple(_plain(value) for value in record.values()))
                    if len(found) > rows:
                        break  # leaving the block ends the transaction, whatever else it would have given
        return Rows(columns, tuple(found[:rows]), has_more=len(found) > rows)


@contextmanager
def _limits(timeout_s: float) -> Generator[None]:
    """Turn what the database says of a statement into our words; its own may quote what the reader may not see."""
    try:
        yield
    except (vendor.ClientError, vendor.TransientError, vendor.DatabaseError) as error:
        title = (error.code or "").rpartition(".")[2]
        log.warning("traversal_failed", code=error.code, message=error.message)
        if title in OUT_OF_TIME:
            raise LimitReached(f"it took over {timeout_s:g} s; ask for less, or raise KNOTWORK_TRAVERSAL_S") from error
        if title in OUT_OF_MEMORY:
            raise LimitReached("it took more memory than a transaction may; ask for less") from error
        if isinstance(error, vendor.ClientError):
            raise InvalidInput(f"it fails on these parameters ({title}); the service's log says more") from error
        raise


def _first_line(error: vendor.ClientError) -> str:
    return (error.message or error.code or type(error).__name__).splitlines()[0]


def _step(plan: Mapping[str, Any]) -> PlanStep:
    """A plan as the driver gives it: nested maps."""
    operator = str(plan["operatorType"]).partition("@")[0].strip()
    children = tuple(_step(child) for child in plan.get("children", ()))
    return PlanStep(operator, str(plan.get("args", {}).get("Details", "")), children)


def _plain(value: object) -> object:
    """A value as JSON has it."""
    match value:
        case None | bool() | int() | str():
            plain: object = value
        case float():
            plain = value if math.isfinite(value) else None
        case vendor_graph.Node():
            plain = {"id": value.get("id"), "type": value.get("type"), "labels": sorted(value.labels)}
        case vendor_graph.Relationship():
            plain = {"id": value.get("id"), "type": value.get("type", value.type)}
        case vendor_graph.Path():
            ways = {"nodes": value.nodes, "relationships": value.relationships}
            plain = {kind: [_plain(one) for one in things] for kind, things in ways.items()}
        case dict():
            plain = {str(name): _plain(one) for name, one in cast("dict[object, object]", value).items()}
        case list():
            plain = [_plain(one) for one in cast("list[object]", value)]
        case _:
            plain = str(value)  # dates and times in ISO 8601, points
    return plain
