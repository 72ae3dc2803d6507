"""What queries used, by day, and what a tenant may use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum

from knotwork.domain.model import TenantId, Usage

FIRST_DAY = 1
NEXT_MONTH_DAYS = 32  # from the first of a month into the next


class Period(StrEnum):
    """The spans of time that a quota is for; both begin at midnight UTC."""

    DAY = "day"
    MONTH = "month"

    def first_day(self, day: date) -> date:
        """The first day of the period that this day is in."""
        return day if self is Period.DAY else day.replace(day=FIRST_DAY)

    def ends_at(self, day: date) -> datetime:
        """When the period that this day is in is over."""
        first = self.first_day(day)
        following = (
            first + timedelta(days=1)
            if self is Period.DAY
            else (first + timedelta(days=NEXT_MONTH_DAYS)).replace(day=FIRST_DAY)
        )
        return datetime.combine(following, time(), UTC)


@dataclass(frozen=True, slots=True)
class Quota:
    """What a tenant may use, at most; None: as much as it likes."""

    queries_per_day: int | None = None
    queries_per_month: int | None = None
    tokens_per_day: int | None = None  # of input and output together
    tokens_per_month: int | None = None

    def limits(self) -> Iterator[tuple[str, Period, str, int]]:
        """Name, period, what is counted (`queries` or `tokens`) and how much of it, for each limit there is."""
        for period in Period:
            for counted in ("queries", "tokens"):
                name = f"{counted}_per_{period}"
                most: int | None = getattr(self, name)
                if most is not None:
                    yield name, period, counted, most


@dataclass(frozen=True, slots=True, order=True)
class UsageKey:
    """What usage is added up by. `model` is empty where none was asked; `mode` is a retrieval mode."""

    tenant: TenantId
    day: date  # UTC
    mode: str
    model: str


@dataclass(frozen=True, slots=True)
class UsageCount:
    """How many queries, and the tokens that their models counted."""

    queries: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: UsageCount) -> UsageCount:
        return UsageCount(
            self.queries + other.queries,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
        )

    @property
    def tokens(self) -> int:
        """Of input and output together."""
        return self.input_tokens + self.output_tokens

    @classmethod
    def of(cls, usage: Usage, *, queries: int = 1) -> UsageCount:
        """The count of one query."""
        return cls(queries, usage.input_tokens, usage.output_tokens)


@dataclass(frozen=True, slots=True)
class UsageRow:
    """Usage of one tenant, day, mode and model."""

    key: UsageKey
    count: UsageCount
