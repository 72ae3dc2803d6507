"""Usage: what a tenant's queries used, by day, mode and model; and what it may use."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Self

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from knotwork.api.auth import Administering
from knotwork.api.problems import ALWAYS, problem_responses
from knotwork.api.schemas import Body
from knotwork.api.state import state_of
from knotwork.domain.usage import Period, Quota, UsageCount, UsageRow
from knotwork.errors import InvalidInput
from knotwork.services.usage import UsageMeter

router = APIRouter(prefix="/v1/tenants/{tenant}", tags=["tenants"])

SHOWN_DAYS = 30  # unless asked for others

Limit = Annotated[int | None, Field(ge=0, le=2**53, description="At most so many; null: as many as it likes.")]


class QuotaBody(Body):
    """Days and months begin at midnight UTC; tokens are those of input and output together."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"queries_per_day": 10_000, "tokens_per_month": 5_000_000}]}
    )
    queries_per_day: Limit = None
    queries_per_month: Limit = None
    tokens_per_day: Limit = None
    tokens_per_month: Limit = None

    @classmethod
    def of(cls, quota: Quota) -> Self:
        return cls(
            queries_per_day=quota.queries_per_day,
            queries_per_month=quota.queries_per_month,
            tokens_per_day=quota.tokens_per_day,
            tokens_per_month=quota.tokens_per_month,
        )

    def quota(self) -> Quota:
        return Quota(self.queries_per_day, self.queries_per_month, self.tokens_per_day, self.tokens_per_month)


class QuotaAnswer(BaseModel):
    tenant: str
    quota: QuotaBody


class UsedOut(BaseModel):
    queries: int
    tokens: int
    ends_at: datetime = Field(description="When counting begins anew.")

    @classmethod
    def of(cls, meter: UsageMeter, count: UsageCount, period: Period) -> Self:
        return cls(queries=count.queries, tokens=count.tokens, ends_at=meter.ends_at(period))


class UsageItem(BaseModel):
    day: date = Field(description="In UTC.")
    mode: str
    model: str = Field(description="Whose tokens they are; empty where the mode asks no model.")
    queries: int
    input_tokens: int
    output_tokens: int

    @classmethod
    def of(cls, row: UsageRow) -> Self:
        return cls(
            day=row.key.day,
            mode=row.key.mode,
            model=row.key.model,
            queries=row.count.queries,
            input_tokens=row.count.input_tokens,
            output_tokens=row.count.output_tokens,
        )


class UsageAnswer(BaseModel):
    tenant: str
    quota: QuotaBody
    today: UsedOut = Field(description="What counts for the quota of the day.")
    month: UsedOut = Field(description="What counts for the quota of the month.")
    since: date
    until: date
    items: list[UsageItem] = Field(description="By day, mode and model.")


@router.get("/usage", responses=problem_responses(*ALWAYS))
async def get_usage(
    request: Request,
    identity: Administering,
    tenant: str,
    since: Annotated[date | None, Query(description="The first day; 30 days ago if not given.")] = None,
    until: Annotated[date | None, Query(description="The last day; today if not given.")] = None,
) -> UsageAnswer:
    """What the tenant's queries used, a query once it is answered; those of a moment ago included."""
    platform = state_of(request).platform
    id_ = identity.require_tenant(tenant)
    identity.require_whole_tenant()
    await platform.tenants.require(id_)
    last = until or datetime.now(UTC).date()
    first = since or last - timedelta(days=min(SHOWN_DAYS - 1, last.toordinal() - 1))
    if first > last:
        raise InvalidInput(f"since is {first}, which is after {last}; swap them")
    meter = platform.meter
    rows = await meter.rows(id_, since=first, until=last)
    return UsageAnswer(
        tenant=tenant,
        quota=QuotaBody.of(meter.quota(id_)),
        today=UsedOut.of(meter, meter.used(id_, Period.DAY), Period.DAY),
        month=UsedOut.of(meter, meter.used(id_, Period.MONTH), Period.MONTH),
        since=first,
        until=last,
        items=[UsageItem.of(row) for row in rows],
    )


@router.put("/quota", responses=problem_responses(*ALWAYS))
async def put_quota(request: Request, identity: Administering, tenant: str, body: QuotaBody) -> QuotaAnswer:
    """Set what a tenant may use, in place of what it was; only the operator may. It holds from the next query on.

    A query beyond it is refused with 429, `quota_exceeded` and `Retry-After`.
    """
    identity.require_operator()
    await state_of(request).platform.meter.set_quota(identity.require_tenant(tenant), body.quota())
    return QuotaAnswer(tenant=tenant, quota=body)
