"""UsageStore over Neo4j 5.26 or later."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import date

from knotwork.adapters.neo4j.catalogue import TENANT_ID
from knotwork.adapters.neo4j.session import BATCH_ROWS, READ_RETRY_S, Neo4jSession, Row, Transaction
from knotwork.domain.ids import storage_key
from knotwork.domain.model import TenantId
from knotwork.domain.usage import Quota, UsageCount, UsageKey, UsageRow
from knotwork.errors import UnknownTenant
from knotwork.ports.usage import UsageBatch

PRUNE_ROWS = 5_000  # rows a transaction


class Neo4jUsageStore:
    """UsageStore over Neo4j. Whoever opened the driver closes it."""

    def __init__(self, session: Neo4jSession) -> None:
        self._session = session

    async def add(self, batch: UsageBatch) -> None:
        rows = sorted((_to_row(row) for row in batch.rows), key=lambda row: str(row["key"]))

        async def work(tx: Transaction) -> None:
            for start in range(0, len(rows), BATCH_ROWS):
                await tx.rows("write/add_usage", rows=rows[start : start + BATCH_ROWS], batch=batch.id)

        # Short patience: the caller has the batch, and comes again.
        await self._session.write(work, retry_s=READ_RETRY_S)

    async def rows(self, tenant: TenantId, *, since: date, until: date) -> list[UsageRow]:
        rows = await self._session.rows("read/usage", tenant=tenant, since=since.isoformat(), until=until.isoformat())
        return sorted((_from_row(row) for row in rows), key=lambda row: row.key)

    async def rows_since(self, day: date) -> list[UsageRow]:
        rows = await self._session.rows("read/usage_since", day=day.isoformat())
        return sorted((_from_row(row) for row in rows), key=lambda row: row.key)

    async def put_quota(self, tenant: TenantId, quota: Quota) -> None:
        values = json.dumps(asdict(quota), sort_keys=True)
        rows = await self._session.execute(
            "write/put_quota", key=storage_key(tenant, TENANT_ID), quota=None if quota == Quota() else values
        )
        if not rows[0]["found"]:
            raise UnknownTenant(tenant)

    async def quotas(self) -> Mapping[TenantId, Quota]:
        rows = await self._session.rows("read/quotas")
        return {TenantId(row["tenant"]): Quota(**json.loads(row["quota"])) for row in rows}

    async def prune(self, before: date) -> None:
        while (await self._session.execute("write/prune_usage", before=before.isoformat(), limit=PRUNE_ROWS))[0][
            "deleted"
        ]:
            pass


def usage_key(key: UsageKey) -> str:
    """The key of a row of usage; neither a day nor a mode has a space."""
    return storage_key(key.tenant, f"usage {key.day.isoformat()} {key.mode} {key.model}")


def _to_row(row: UsageRow) -> dict[str, object]:
    key = row.key
    return {
        "key": usage_key(key),
        "tenant_key": storage_key(key.tenant, TENANT_ID),
        "tenant": key.tenant,
        "day": key.day.isoformat(),
        "mode": key.mode,
        "model": key.model,
        **asdict(row.count),
    }


def _from_row(row: Row) -> UsageRow:
    key = UsageKey(TenantId(row["tenant"]), date.fromisoformat(row["day"]), row["mode"], row["model"])
    return UsageRow(key, UsageCount(row["queries"], row["input_tokens"], row["output_tokens"]))
