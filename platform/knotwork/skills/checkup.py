"""The check-up: what is wrong, or looks wrong, with a declared graph. Pure, and linear in skills and edges."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from knotwork.skills.errors import listed
from knotwork.skills.model import Entry, Route, unique


class ProblemCode(StrEnum):
    UNKNOWN_SKILL = "unknown-skill"
    NO_ENTRY = "no-entry"
    UNREACHABLE_SKILL = "unreachable-skill"
    AMBIGUOUS_EDGES = "ambiguous-edges"
    SELF_LOOP = "self-loop"


class Level(StrEnum):
    ERROR = "error"  # the graph cannot work as declared; check="throw" refuses it
    WARNING = "warning"  # it works, perhaps not as meant


@dataclass(frozen=True, slots=True)
class Problem:
    """One finding: the skills concerned, and a sentence that says what is wrong and what to do."""

    code: ProblemCode
    level: Level
    ids: tuple[str, ...]
    message: str


@dataclass(frozen=True, slots=True)
class Checkup:
    """All findings, errors first. `ok` means that there is no error; warnings may remain."""

    problems: tuple[Problem, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.errors

    @property
    def errors(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.level is Level.ERROR)

    def __str__(self) -> str:
        return "\n".join(f"{problem.level}: {problem.code}: {problem.message}" for problem in self.problems)


def check_flat(skill_ids: Sequence[str], entries: Sequence[Entry], routes: Sequence[Route]) -> Checkup:
    """Check a graph of entries and routes.

    Args:
        skill_ids: The skills that the graph holds, wired or not.
        entries: As declared, whether or not the graph holds their skill.
        routes: As declared, likewise.
    """
    named = (*(entry.skill_id for entry in entries), *(end for route in routes for end in (route.from_id, route.to_id)))
    return Checkup(
        (
            *_unknown(skill_ids, named),
            *_no_entry(entries),
            *_unreachable(skill_ids, entries, routes),
            *_ambiguous(routes),
            *_self_loops(routes),
        )
    )


def check_tree(skill_ids: Sequence[str], leaf_ids: Sequence[str]) -> Checkup:
    """Check a tree: it is its own start, and its branches exclude and exhaust each other by construction."""
    leaves = frozenset(leaf_ids)
    aside = [skill_id for skill_id in skill_ids if skill_id not in leaves]
    return Checkup(
        (
            *_unknown(skill_ids, leaf_ids),
            *(_unreachable_problem(skill_id, "make it a leaf of the tree") for skill_id in aside),
        )
    )


def _unknown(skill_ids: Sequence[str], named: Iterable[str]) -> Iterator[Problem]:
    known = frozenset(skill_ids)
    for skill_id in unique(named):
        if skill_id not in known:
            yield Problem(
                ProblemCode.UNKNOWN_SKILL,
                Level.ERROR,
                (skill_id,),
                f"{skill_id!r} is used by an entry, a route or a leaf, but is not among the skills; "
                "add the skill, or correct the id",
            )


def _no_entry(entries: Sequence[Entry]) -> Iterator[Problem]:
    if not entries:
        yield Problem(
            ProblemCode.NO_ENTRY,
            Level.ERROR,
            (),
            "no conversation can start here; declare at least one entry (`entry(...)`, or `start`)",
        )


def _unreachable(skill_ids: Sequence[str], entries: Sequence[Entry], routes: Sequence[Route]) -> Iterator[Problem]:
    successors: defaultdict[str, list[str]] = defaultdict(list)
    for route in routes:
        successors[route.from_id].append(route.to_id)
    reached = {entry.skill_id for entry in entries}
    pending = list(reached)
    while pending:
        for successor in successors.get(pending.pop(), ()):
            if successor not in reached:
                reached.add(successor)
                pending.append(successor)
    for skill_id in skill_ids:
        if skill_id not in reached:
            yield _unreachable_problem(skill_id, "make it an entry, or route to it from a skill that is reached")


def _unreachable_problem(skill_id: str, remedy: str) -> Problem:
    return Problem(
        ProblemCode.UNREACHABLE_SKILL,
        Level.WARNING,
        (skill_id,),
        f"no entry leads to {skill_id!r}; {remedy}, or leave it if it is meant to be loaded only on request",
    )


def _ambiguous(routes: Sequence[Route]) -> Iterator[Problem]:
    """Routes of one skill, none with a priority, that one tool result may fire together.

    Two such routes are clear of each other only where both wait for exact tool names and the names differ.
    """
    unranked: defaultdict[str, list[Route]] = defaultdict(list)
    for route in routes:
        if route.priority is None:
            unranked[route.from_id].append(route)
    for from_id, group in unranked.items():
        names = Counter(route.on_tool_return for route in group if isinstance(route.on_tool_return, str))
        open_ended = len(group) > names.total()  # a pattern or a bare condition may meet any of the others
        clashing = [
            route
            for route in group
            if (open_ended and len(group) > 1)
            or (isinstance(route.on_tool_return, str) and names[route.on_tool_return] > 1)
        ]
        if clashing:
            targets = unique(route.to_id for route in clashing)
            yield Problem(
                ProblemCode.AMBIGUOUS_EDGES,
                Level.WARNING,
                unique((from_id, *targets)),
                f"{len(clashing)} routes of {from_id!r} (to {listed(targets)}) may fire on one tool "
                "result, and the first declared wins; give them a priority, or distinct exact tool names",
            )


def _self_loops(routes: Sequence[Route]) -> Iterator[Problem]:
    for skill_id in unique(route.from_id for route in routes if route.from_id == route.to_id):
        yield Problem(
            ProblemCode.SELF_LOOP,
            Level.WARNING,
            (skill_id,),
            f"{skill_id!r} has a route to itself; the cursor stays by itself, so remove it "
            "(it also hides the routes after it)",
        )
