"""The cut of a search: ties at it are fetched and broken by id, whatever order the engine gives them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from math import inf
from typing import Protocol

from knotwork.adapters.qdrant.mapping import from_payload
from knotwork.ports.vector_store import Hit

_FIRST_WIDENING = 64
_WIDEN_BY = 4
_MARGIN = 1e-5  # of a score, more than its rounding to 32 bits


class Scored(Protocol):
    """A point as the engine or the server returns it."""

    @property
    def score(self) -> float: ...
    @property
    def payload(self) -> Mapping[str, object] | None: ...


Search = Callable[[int, bool], Awaitable[Sequence[Scored]]]  # (how many, whole payload or the id alone), best first
Complete = Callable[[Sequence[str]], Awaitable[Mapping[str, Mapping[str, object]]]]  # payloads of public ids


def threshold(min_score: float | None) -> float | None:
    """The floor to ask of Qdrant, which keeps what is *above* its threshold, in 32 bits: a little below ours."""
    return None if min_score is None else min_score - _MARGIN * max(1.0, abs(min_score))


async def best(
    search: Search,
    complete: Complete,
    *,
    limit: int,
    min_score: float | None,
    with_payload: bool,
    bound: float = inf,
) -> list[Hit]:
    """The `limit` best hits with score ≥ min_score, by (-score, id); a score that rounding took past ±bound is bound.

    One more is asked for than is needed. Where it scores like the last one needed, ids alone are asked for, four times
    as many each time, until the score falls.
    """
    if limit < 1:
        return []

    async def hits_of(wanted: int, whole: bool) -> list[Hit]:
        return [_hit(point, bound) for point in await search(wanted, whole)]

    wanted = limit + 1
    hits = await hits_of(wanted, with_payload)
    if not _ends_in_tie(hits, limit, wanted):
        return _cut(hits, limit, min_score)
    while _ends_in_tie(hits, limit, wanted):
        wanted = max(_FIRST_WIDENING, wanted * _WIDEN_BY)
        hits = await hits_of(wanted, False)
    hits = _cut(hits, limit, min_score)
    if not with_payload:
        return hits
    payloads = await complete([hit.id for hit in hits])
    return [Hit(hit.id, hit.score, payloads[hit.id]) for hit in hits if hit.id in payloads]


def _ends_in_tie(hits: Sequence[Hit], limit: int, wanted: int) -> bool:
    """Whether points beyond those found may score like the last one needed."""
    return len(hits) == wanted and hits[-1].score == hits[limit - 1].score


def _hit(point: Scored, bound: float) -> Hit:
    id_, payload = from_payload(point.payload)
    return Hit(id_, max(-bound, min(point.score, bound)), payload)


def _cut(hits: Sequence[Hit], limit: int, min_score: float | None) -> list[Hit]:
    kept = hits if min_score is None else [hit for hit in hits if hit.score >= min_score]
    return sorted(kept, key=lambda hit: (-hit.score, hit.id))[:limit]
