"""Where a conversation moves next: the one resolver that everything else of the graph asks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from knotwork.errors import InvalidInput
from knotwork.skills.errors import JumpRefused, UnknownSkill
from knotwork.skills.model import Entry, Route, SkillContext, SkillEdge, unique


class MoveCause(StrEnum):
    """The rule that decided a move."""

    ENTRY = "entry"  # cold: the first entry that matches
    CHOSEN = "chosen"  # cold: the entry that the scorer chose, or the model picked from the menu
    ROUTE = "route"  # a route of the current skill fired
    STAY = "stay"  # none fired
    NONE = "none"  # cold, and nothing matched or was chosen yet
    TREE = "tree"  # a tree routes by its predicates and has no cursor
    JUMP = "jump"  # the model asked for a skill that was reachable


@dataclass(frozen=True, slots=True)
class Move:
    """The resolver's answer: the cursor before and after, the rule that decided, and the edge taken, if any."""

    from_id: str | None
    to_id: str | None
    by: MoveCause
    edge: SkillEdge | None = None

    @property
    def reason(self) -> str:  # noqa: PLR0911 - one sentence for each cause
        """One sentence for a trace."""
        label = f" ({self.edge.label})" if self.edge is not None and self.edge.label else ""
        match self.by:
            case MoveCause.ENTRY:
                return f"entry {self.to_id!r} is the first that matches{label}"
            case MoveCause.CHOSEN:
                return f"entry {self.to_id!r} was chosen for this turn{label}"
            case MoveCause.ROUTE:
                return f"the route {self.from_id!r} → {self.to_id!r} fired{label}"
            case MoveCause.STAY:
                return f"no route of {self.from_id!r} fired"
            case MoveCause.NONE:
                return "no entry matches, or none was chosen yet"
            case MoveCause.TREE:
                return "the tree routes by its predicates; the cursor is left as it was"
            case MoveCause.JUMP:
                return f"the model asked for {self.to_id!r}"


class EntryChoice(StrEnum):
    """Who picks the start. With SCORER and READ the entries exclude each other."""

    FIRST_MATCH = "first-match"
    SCORER = "scorer"
    READ = "read"


@dataclass(frozen=True, slots=True)
class FlatRouting:
    """The cursor of a graph of entries and routes. Edges to skills that the graph does not hold are left out."""

    entries: tuple[Entry, ...]  # in the order declared
    routes: Mapping[str, tuple[Route, ...]]  # by source, in the order declared
    firing_order: Mapping[str, tuple[Route, ...]]  # by source: priority, lower first, then the order declared
    choice: EntryChoice
    skill_ids: frozenset[str]

    def move(self, ctx: SkillContext) -> Move:
        """Where the cursor stands after this iteration. Pure; costs the conditions of the entries or of one skill.

        Raises:
            UnknownSkill: the cursor names a skill that the graph does not hold.
            JumpRefused: `chosen_entry_id` is no entry.
            InvalidInput: `chosen_entry_id` is set though the graph picks its start by itself.
            PredicateFailed: a condition raised.
        """
        current = ctx.current_skill_id
        if current is None:
            return self._start(ctx)
        self._known(current)
        for route in self.firing_order.get(current, ()):
            if route.fires(ctx.last_tool_result):
                return Move(current, route.to_id, MoveCause.ROUTE, route.edge)
        return Move(current, current, MoveCause.STAY)

    def _start(self, ctx: SkillContext) -> Move:
        chosen = ctx.chosen_entry_id
        if self.choice is EntryChoice.FIRST_MATCH:
            if chosen is not None:
                raise InvalidInput(
                    f"chosen_entry_id is {chosen!r}, but this graph starts at its first matching entry; "
                    "leave it out, or declare entry_by, entry_by_relevance or entry_by_read"
                )
            first = next((entry for entry in self.entries if entry.matches(ctx)), None)
            return Move(None, None, MoveCause.NONE) if first is None else _started(first, MoveCause.ENTRY)
        if chosen is None:
            return Move(None, None, MoveCause.NONE)
        entry = next((entry for entry in self.entries if entry.skill_id == chosen), None)
        if entry is None:
            raise JumpRefused(None, chosen, reachable=self.reachable(None))
        return _started(entry, MoveCause.CHOSEN)

    def routed(self, ctx: SkillContext) -> str | None:
        """The one skill whose turn it is."""
        return self.move(ctx).to_id

    def reachable(self, current: str | None) -> tuple[str, ...]:
        """Cold: the entries. Else the direct successors, then the entries, without the current skill itself."""
        entries = unique(entry.skill_id for entry in self.entries)
        if current is None:
            return entries
        self._known(current)
        successors = (route.to_id for route in self.routes.get(current, ()))
        return tuple(skill_id for skill_id in unique((*successors, *entries)) if skill_id != current)

    def _known(self, skill_id: str) -> None:
        if skill_id not in self.skill_ids:
            raise UnknownSkill(skill_id, known=sorted(self.skill_ids))


def _started(entry: Entry, by: MoveCause) -> Move:
    return Move(None, entry.skill_id, by, entry.edge)
