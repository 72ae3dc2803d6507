"""What each audience knows of an entity or a relationship, kept up as evidence comes and goes.

An audience is one distinct set of auth subjects; sources share few of them. What a reader may know of a thing (that
it exists, its name, description, weight) is the union over the audiences that the reader belongs to, so it is read
without touching all evidence. The rules are those of merge.py, and adding or removing evidence one by one gives what
merging all of it gives; only a removal that takes a winner needs to look at other evidence of that audience: whether
some still says what won, which is nearly always so of a name, and if none does, at all of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from knotwork.domain.merge import better_description


@dataclass(frozen=True, slots=True)
class Known:
    """What one audience knows: chunks that say it, the name that sorts first, the best description."""

    count: int
    name: str
    description: str


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
    return Known(known.count + 1, min(known.name, said.name), better_description(known.description, said.description))


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
    doubt = Doubt(
        name=bool(said.name) and said.name == known.name,
        description=bool(said.description) and said.description == known.description,
    )
    return Known(known.count - 1, known.name, known.description), doubt


def from_evidence(count: int, names: Iterable[str], descriptions: Iterable[str]) -> Known | None:
    """What an audience knows by all its evidence: distinct names, and at least every longest description."""
    if count == 0:
        return None
    best = ""
    for description in descriptions:
        best = better_description(best, description)
    return Known(count, min(names, default=""), best)


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
