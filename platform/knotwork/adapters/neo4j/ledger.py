"""Ledger over Neo4j 5.26 or later."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import groupby
from operator import itemgetter
from typing import TypeVar

from pydantic import TypeAdapter

from knotwork.adapters.neo4j.catalogue import TENANT_ID, source_key
from knotwork.adapters.neo4j.session import Neo4jSession, Row, Transaction
from knotwork.adapters.neo4j.texts import put_texts, unpack_text
from knotwork.domain.catalogue import (
    OVER,
    AcceptedRun,
    IndexResult,
    Run,
    RunKind,
    RunState,
    RunStep,
    SourceChange,
)
from knotwork.domain.ids import storage_key
from knotwork.domain.model import ParsedText, Source, SourceRef, Subject, TenantId
from knotwork.errors import UnknownTenant

T = TypeVar("T")

SOURCE, CHANGE, RESULT = TypeAdapter(Source), TypeAdapter(SourceChange), TypeAdapter(IndexResult)
ACCEPT_RETRY_S = 5.0  # a request waits for it, and is kept elsewhere when the database is away
NEWEST = "~"  # sorts after every run id, which are hexadecimal


class Neo4jLedger:
    """Ledger over Neo4j. Whoever opened the driver closes it."""

    def __init__(self, session: Neo4jSession) -> None:
        self._session = session

    async def accept(self, tenant: TenantId, runs: Sequence[AcceptedRun]) -> None:
        rows = sorted(
            ({"key": storage_key(tenant, one.run.id), "values": _run_values(one.run)} for one in runs),
            key=lambda row: str(row["key"]),
        )

        async def work(tx: Transaction) -> None:
            accepted = await tx.rows(
                "write/accept_runs", tenant=tenant, tenant_key=storage_key(tenant, TENANT_ID), rows=rows
            )
            if len(accepted) != len(rows):
                raise UnknownTenant(tenant)
            is_open = {row["key"]: row["open"] for row in accepted}
            texts = ((storage_key(tenant, one.run.id), one.parsed) for one in runs)
            # A run that is over by now has let its text go.
            await put_texts(tx, tenant, ((key, text) for key, text in texts if text is not None and is_open[key]))

        await self._session.write(work, retry_s=ACCEPT_RETRY_S)

    @asynccontextmanager
    async def alone(self, tenant: TenantId, runs: Sequence[Run]) -> AsyncGenerator[list[str]]:
        id_of = {storage_key(tenant, run.id): run.id for run in runs}
        sources = sorted({source_key(tenant, run.ref) for run in runs})
        async with self._session.holding("write/hold_sources", keys=sources, runs=sorted(id_of)) as rows:
            yield [id_of[row["key"]] for row in rows]

    async def texts(self, tenant: TenantId, run_ids: Sequence[str]) -> Mapping[str, ParsedText]:
        id_of = {storage_key(tenant, id_): id_ for id_ in run_ids}
        rows = await self._session.rows("read/run_texts", keys=sorted(id_of))
        found = ((id_of[key], unpack_text(list(pieces))) for key, pieces in groupby(rows, itemgetter("owner")))
        return {id_: text for id_, text in found if text is not None}

    async def record(self, tenant: TenantId, runs: Sequence[Run]) -> None:
        rows = sorted(
            ({"key": storage_key(tenant, run.id), "values": _progress_values(run)} for run in runs),
            key=lambda row: str(row["key"]),
        )
        over = sorted(storage_key(tenant, run.id) for run in runs if run.state in OVER)

        async def work(tx: Transaction) -> None:
            await tx.rows_of("write/record_runs", "rows", rows)
            if over:
                await tx.rows_of("write/drop_run_texts", "keys", over)

        await self._session.write(work)

    async def run(self, tenant: TenantId, run_id: str) -> Run | None:
        rows = await self._session.rows("read/run", key=storage_key(tenant, run_id))
        return _run_from(rows[0]["run"]) if rows else None

    async def runs(
        self,
        tenant: TenantId,
        *,
        subjects: Sequence[Subject] | None = None,
        others: Collection[str] = (),
        after: str | None = None,
        limit: int = 100,
    ) -> list[Run]:
        rows = await self._session.rows(
            "read/runs",
            tenant=tenant,
            subjects=None if subjects is None else list(subjects),
            others=sorted(others),
            before=after or NEWEST,
            limit=limit,
        )
        return [_run_from(row["run"]) for row in rows]

    async def unfinished(self, *, after: str | None = None, limit: int = 1000) -> list[tuple[TenantId, Run]]:
        rows = await self._session.rows("read/unfinished_runs", after=after or "", limit=limit)
        return [(TenantId(row["run"]["tenant"]), _run_from(row["run"])) for row in rows]

    async def set_paused(self, tenant: TenantId, *, paused: bool) -> None:
        key = storage_key(tenant, TENANT_ID)
        if not await self._session.execute("write/pause_tenant", key=key, paused=True if paused else None):
            raise UnknownTenant(tenant)

    async def paused(self) -> list[TenantId]:
        return sorted(TenantId(row["tenant"]) for row in await self._session.rows("read/paused_tenants"))


def _run_values(run: Run) -> dict[str, object]:
    return {
        "id": run.id,
        "kind": run.kind.value,
        "source_type": run.ref.type,
        "source_id": run.ref.id,
        "accepted_at": run.accepted_at,
        "source": _json(SOURCE, run.source),
        "change": _json(CHANGE, run.change),
        "seen_by": list(run.seen_by),
        **_progress_values(run),
    }


def _progress_values(run: Run) -> dict[str, object]:
    return {
        "step": run.step.value,
        "state": run.state.value,
        "open": None if run.state in OVER else True,  # a property that only open runs have keeps their index small
        "error_code": run.error_code,
        "error": run.error,
        "result": _json(RESULT, run.result),
    }


def _run_from(values: Row) -> Run:
    return Run(
        id=values["id"],
        kind=RunKind(values["kind"]),
        ref=SourceRef(values["source_type"], values["source_id"]),
        step=RunStep(values["step"]),
        state=RunState(values["state"]),
        accepted_at=values["accepted_at"],
        error_code=values.get("error_code"),
        error=values.get("error"),
        result=_value(RESULT, values.get("result")),
        source=_value(SOURCE, values.get("source")),
        change=_value(CHANGE, values.get("change")),
        seen_by=tuple(values.get("seen_by", ())),
    )


def _json(kind: TypeAdapter[T], value: T | None) -> str | None:
    return None if value is None else kind.dump_json(value).decode()


def _value(kind: TypeAdapter[T], text: str | None) -> T | None:
    return None if text is None else kind.validate_json(text)
