"""What each audience knows of an entity or a relationship, kept up as evidence comes and goes.

An audience is one distinct set of auth subjects; sources share few of them. What a reader may know of a thing (that
it exists, its name, description, weight) is the union over the audiences that the reader belongs to, so it is read
without touching all evidence. The rules are those of merge.py, and adding or removing evidence one by one gives what
merging all of it gives; only a removal that takes a winner needs to look at other evidence of that audience: whether
some still says what won, which is nearly always so of a name, and if none does, at all of it. Of a thing that very many
chunks speak of, that look gives the next best descriptions too, so that it is needed once in many such removals.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from knotwork.domain.merge import better_description, description_order

SPARES = 16  # descriptions of a hub that are kept: all evidence is looked at once in as many losses of the best
SPARES_FROM = 500  # chunks from which on they are: fewer are looked at in no time

Spares: TypeAlias = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Known:
    """What one audience knows: chunks that say it, the name that sorts first, the best description.

    `spares` are the best descriptions of all, with how many chunks say each, best first, down to the last of them:
    whatever is better than that is among them. Empty: not looked for. They are derived, and no part of what is known.
    """

    count: int
    name: str
    description: str
    spares: Spares = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Account:
    """What one chunk of an audience says of a thing; a relationship has no name."""

    audience: str
    description: str
    name: str = ""


def with_account(known: Known | None, said: Account) -> Known:
    """What an audience knows after one more chunk spoke."""
    if known is None:
        return Known(1, said.name, said.description)
    best = better_description(known.description, said.description)
    return Known(known.count + 1, min(known.name, said.name), best, _with_spare(known.spares, said.description))


@dataclass(frozen=True, slots=True)
class Doubt:
    """Which winners may have nobody left who says them."""

    name: bool = False
    description: bool = False

    def __bool__(self) -> bool:
        return self.name or self.description

    def __or__(self, other: Doubt) -> Doubt:
        return Doubt(self.name or other.name, self.description or other.description)


def without_account(known: Known, said: Account) -> tuple[Known | None, Doubt]:
    """What an audience knows after one chunk fell silent, if the winners in doubt are still said by another."""
    if known.count <= 1:
        return None, Doubt()
    spares = _without_spare(known.spares, said.description)
    best = spares[0][0] if spares else known.description
    doubt = Doubt(
        name=bool(said.name) and said.name == known.name,
        description=not spares and bool(said.description) and said.description == known.description,
    )
    return Known(known.count - 1, known.name, best, spares), doubt


def from_evidence(count: int, names: Iterable[str], descriptions: Iterable[str], spares: Spares = ()) -> Known | None:
    """What an audience knows by all its evidence.

    Args:
        count: Chunks that speak of the thing.
        names: The distinct names.
        descriptions: At least every longest one.
        spares: Descriptions and how many chunks say each, in any order, one more than once where it stands under
            several names; none, or all that are as long as the shortest of them.
    """
    if count == 0:
        return None
    best = ""
    for description in descriptions:
        best = better_description(best, description)
    counts: Counter[str] = Counter()
    if count >= SPARES_FROM:
        for text, said in spares:
            counts[text] += said
    return Known(count, min(names, default=""), best, _best_spares(counts))


def _with_spare(spares: Spares, description: str) -> Spares:
    """One more chunk says this; what is worse than all of them is not known to be said by nobody else."""
    if not spares or not description or better_description(description, spares[-1][0]) != description:
        return spares
    counts = dict(spares)
    return _best_spares({**counts, description: counts.get(description, 0) + 1})


def _without_spare(spares: Spares, description: str) -> Spares:
    """One chunk less says this."""
    left = ((text, count - (text == description)) for text, count in spares)
    return tuple((text, count) for text, count in left if count)


def _best_spares(counts: Mapping[str, int]) -> Spares:
    best = sorted((text for text in counts if text), key=description_order)[:SPARES]
    return tuple((text, counts[text]) for text in best)


def combined(known: Iterable[Known]) -> Known:
    """What a reader of these audiences knows, of which there is at least one."""
    first, *others = known
    total = first
    for one in others:
        total = Known(
            total.count + one.count, min(total.name, one.name), better_description(total.description, one.description)
        )
    return total


def visible(known: Mapping[str, Known], audiences: frozenset[str] | None) -> Known | None:
    """What the members of these audiences know of a thing, if anything; None stands for every audience."""
    seen = [one for audience, one in known.items() if audiences is None or audience in audiences]
    return combined(seen) if seen else None
