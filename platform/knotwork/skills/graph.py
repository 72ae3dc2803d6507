"""The compiled graph: immutable, comparable, and the only thing that callers ask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, cast

from knotwork.errors import InvalidInput
from knotwork.skills.checkup import Checkup
from knotwork.skills.cursor import EntryChoice, FlatRouting, Move, MoveCause
from knotwork.skills.errors import JumpRefused, UnknownSkill
from knotwork.skills.mermaid import draw
from knotwork.skills.model import Entry, Skill, SkillContext, SkillEdge, SkillNode
from knotwork.skills.scoring import Candidate, EntryScorer, EntryScoring, score_candidates
from knotwork.skills.tree import TreeRouting


class ActivationKind(StrEnum):
    """When a skill is active, compiled from its incoming edges."""

    ALWAYS = "always"  # an entry without `when`: a base procedure beside whatever the cursor is on
    WHEN = "when"  # an entry with `when`: whenever that holds, and while the cursor is on it
    CURSOR = "cursor"  # exactly while the cursor is on it
    TREE = "tree"  # exactly when the tree leads to it
    MODEL = "model"  # no incoming edge: loaded at the model's request, and while the cursor is put on it


@dataclass(frozen=True, slots=True)
class Activation:
    """A skill's compiled activation. `conditions` are its conditional entries, for WHEN."""

    kind: ActivationKind
    conditions: tuple[Entry, ...] = ()

    def holds(self, skill_id: str, ctx: SkillContext, routed: str | None) -> bool:
        """Whether the skill is active, given the one that the graph routes to in this context."""
        if self.kind is ActivationKind.ALWAYS or routed == skill_id:
            return True
        return any(entry.matches(ctx) for entry in self.conditions)


@dataclass(frozen=True, slots=True)
class Step:
    """All that one iteration needs to know: the move, the skills active during it, and where the model may jump."""

    move: Move
    active: tuple[str, ...]
    tools: tuple[str, ...]  # that reach the model
    reachable: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SkillGraph:
    """A compiled graph of skills. Made by `skill_graph().….build()` or `graph_from_config`.

    `skills` are in the order in which the edges first mention them (entries, then routes), unwired ones last as
    listed. Each carries its routing provenance under `metadata["skill_graph"]`. Two graphs are equal when they hold
    the same skills, edges, nodes and conditions, whichever form declared them.
    """

    skills: tuple[Skill, ...]
    edges: tuple[SkillEdge, ...]
    nodes: tuple[SkillNode, ...]
    routing: FlatRouting | TreeRouting = field(hash=False)
    scorer: EntryScorer | None = field(default=None, hash=False)
    _by_id: Mapping[str, Skill] = field(default_factory=dict[str, Skill], repr=False, compare=False)
    _activations: Mapping[str, Activation] = field(default_factory=dict[str, Activation], repr=False, compare=False)
    _checkup: Checkup = field(default_factory=Checkup, repr=False, compare=False)

    # The cursor ----------------------------------------------------------------------------------------------

    def next_skill(self, ctx: SkillContext) -> str | None:
        """Where the cursor stands after this iteration; pure, and the only authority.

        Cold: the first entry that matches, or with a scorer or `entry_by_read` the context's `chosen_entry_id`
        (None until it is set). On a skill: the target of its first route that fires, else the skill itself. In a
        tree: the context's cursor, unchanged.

        Raises:
            UnknownSkill: the cursor names a skill that the graph does not hold.
            JumpRefused: `chosen_entry_id` is no entry.
            InvalidInput: `chosen_entry_id` is set though the graph picks its start by itself.
            PredicateFailed: a condition raised.
        """
        return self.routing.move(ctx).to_id

    def explain(self, ctx: SkillContext) -> Move:
        """`next_skill` with the rule that decided and the edge taken. Raises as it does."""
        return self.routing.move(ctx)

    def step(self, ctx: SkillContext) -> Step:
        """The move, the active skills and the reachable set of one iteration. Raises as `next_skill`."""
        return self._step(self.routing.move(ctx), ctx)

    def reachable_skills(self, current: str | None = None) -> tuple[str, ...]:
        """Where the model may jump. Cold: the entries; else the direct successors and entries, less `current`
        itself; in a tree, all leaves.

        Raises:
            UnknownSkill: the graph holds no such skill.
        """
        return self.routing.reachable(current)

    def jump(self, current: str | None, to: str) -> str:
        """The cursor after a jump at the model's request, such as its pick from the menu of entries.

        Raises:
            JumpRefused: `to` is not reachable from `current`.
            UnknownSkill: the graph holds no skill `current`.
        """
        reachable = self.reachable_skills(current)
        if to not in reachable:
            raise JumpRefused(current, to, reachable=reachable)
        return to

    def jump_step(self, ctx: SkillContext, to: str) -> Step:
        """As `step`, where the model asks for a skill instead of a tool: no route is looked at.

        Raises as `jump` and `next_skill`.
        """
        cursor = self.jump(ctx.current_skill_id, to)
        arrived = replace(ctx, current_skill_id=cursor, last_tool_result=None, chosen_entry_id=None)
        return self._step(Move(ctx.current_skill_id, cursor, MoveCause.JUMP), arrived)

    def _step(self, move: Move, ctx: SkillContext) -> Step:
        active = self.active_skills(ctx)
        return Step(move, active, self._tools(frozenset(active)), self.reachable_skills(move.to_id))

    # Activation ----------------------------------------------------------------------------------------------

    def activation(self, skill_id: str) -> Activation:
        """The skill's compiled activation.

        Raises:
            UnknownSkill: the graph holds no such skill.
        """
        self.skill(skill_id)
        return self._activations[skill_id]

    def is_active(self, skill_id: str, ctx: SkillContext) -> bool:
        """Whether one skill is active in this iteration. Raises as `next_skill`."""
        return self.activation(skill_id).holds(skill_id, ctx, self.routing.routed(ctx))

    def active_skills(self, ctx: SkillContext) -> tuple[str, ...]:
        """All skills active in this iteration, in the order of `skills`. Raises as `next_skill`."""
        routed = self.routing.routed(ctx)
        return tuple(skill.id for skill in self.skills if self._activations[skill.id].holds(skill.id, ctx, routed))

    def active_tools(self, ctx: SkillContext) -> tuple[str, ...]:
        """The tools that reach the model: of active skills, and of all that are not `current_skill` only."""
        return self._tools(frozenset(self.active_skills(ctx)))

    def _tools(self, active: frozenset[str]) -> tuple[str, ...]:
        shown = (skill for skill in self.skills if skill.id in active or skill.auto_activate != "current_skill")
        return tuple(dict.fromkeys(tool for skill in shown for tool in skill.tools))

    # The start -----------------------------------------------------------------------------------------------

    async def score_entries(self, ctx: SkillContext) -> EntryScoring:
        """Score the entries whose `when` holds, once a turn; put `chosen` into the context as `chosen_entry_id`.

        Raises:
            InvalidInput: the graph has no scorer.
            ScoringFailed: the scorer's answer is unusable.
            PredicateFailed: an entry's `when` raised.
        """
        if self.scorer is None:
            raise InvalidInput("this graph has no scorer; declare entry_by(...) or entry_by_relevance(...)")
        return await score_candidates(self.scorer, ctx.user_message, self.candidates(ctx))

    def candidates(self, ctx: SkillContext) -> tuple[Candidate, ...]:
        """What `score_entries` scores: the skills of entries whose `when` holds, in the order declared.

        Raises:
            PredicateFailed: an entry's `when` raised.
        """
        entries = self.routing.entries if isinstance(self.routing, FlatRouting) else ()
        matching = dict.fromkeys(entry.skill_id for entry in entries if entry.matches(ctx))
        return tuple(Candidate(skill_id, self._by_id[skill_id].description) for skill_id in matching)

    @property
    def entry_choice(self) -> EntryChoice | None:
        """Who picks the start; None in a tree, which has none."""
        return self.routing.choice if isinstance(self.routing, FlatRouting) else None

    # Looking at it -------------------------------------------------------------------------------------------

    def skill(self, skill_id: str) -> Skill:
        """
        Raises:
            UnknownSkill: the graph holds no such skill.
        """
        try:
            return self._by_id[skill_id]
        except KeyError:
            raise UnknownSkill(skill_id, known=sorted(self._by_id)) from None

    def checkup(self) -> Checkup:
        """What is wrong, or looks wrong, with the graph as declared."""
        return self._checkup

    def to_mermaid(self) -> str:
        """A Mermaid flowchart: each node and edge of the graph, and nothing else."""
        return draw(self.nodes, self.edges)

    def as_data(self) -> dict[str, Any]:
        """Skills, edges (`from`, `to`, `kind`, `label`), nodes and problems as fresh JSON values.

        Conditions are not in it: a graph is rebuilt from its declaration, never from this. Metadata is taken as it
        is, mappings and sequences copied.
        """
        return {
            "skills": [
                {
                    "id": skill.id,
                    "description": skill.description,
                    "instructions": skill.instructions,
                    "tools": list(skill.tools),
                    "metadata": _copied(skill.metadata),
                    "auto_activate": skill.auto_activate,
                }
                for skill in self.skills
            ],
            "edges": [
                {"from": edge.from_id, "to": edge.to_id, "kind": edge.kind.value, "label": edge.label}
                for edge in self.edges
            ],
            "nodes": [{"id": node.id, "kind": node.kind, "label": node.label} for node in self.nodes],
            "problems": [
                {
                    "code": problem.code.value,
                    "level": problem.level.value,
                    "ids": list(problem.ids),
                    "message": problem.message,
                }
                for problem in self._checkup.problems
            ],
        }


def _copied(value: object) -> Any:
    if isinstance(value, Mapping):
        return {key: _copied(item) for key, item in cast("Mapping[str, object]", value).items()}
    if isinstance(value, list | tuple):
        return [_copied(item) for item in cast("Sequence[object]", value)]
    return value
