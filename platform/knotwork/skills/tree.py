"""Decision trees: flattened once, walked for each context.

A tree has no cursor. A leaf's condition is the conjunction of the tests on its path, each as answered there; walking
from the root evaluates just that, each test at most once for a context, so that exactly one leaf holds whatever the
tests do. Everything here is iterative: a tree may be thousands of tests deep.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias

from knotwork.skills.cursor import Move, MoveCause
from knotwork.skills.model import ContextPredicate, Decision, Skill, SkillContext, TreeNode, ask, unique

PathStep: TypeAlias = Mapping[str, str]  # {"label": the test, "branch": "yes" or "no"}
Child: TypeAlias = int | str  # the index of a branch, or the id of a leaf


@dataclass(frozen=True, slots=True)
class Branch:
    """A test with the place to go for each answer."""

    predicate: ContextPredicate
    label: str
    when_true: Child
    when_false: Child


@dataclass(frozen=True, slots=True)
class Arrival:
    """One line of the drawing: from START (None) or a branch to a child, and the answer that leads there."""

    parent: int | None
    answer: Literal["yes", "no"] | None
    child: Child


@dataclass(frozen=True, slots=True)
class Leaf:
    """An occurrence of a skill as a leaf, with its path from the root."""

    skill_id: str
    path: tuple[PathStep, ...]


@dataclass(frozen=True, slots=True)
class TreeRouting:
    """The flattened tree. Branches, arrivals and leaves are in preorder, the yes side first."""

    root: Child
    branches: tuple[Branch, ...]
    arrivals: tuple[Arrival, ...]
    leaves: tuple[Leaf, ...]
    skill_ids: frozenset[str]

    def move(self, ctx: SkillContext) -> Move:
        """No cursor: it is given back as it came."""
        return Move(ctx.current_skill_id, ctx.current_skill_id, MoveCause.TREE)

    def routed(self, ctx: SkillContext) -> str | None:
        """The leaf that the tests lead to; None when the graph does not hold it.

        Raises:
            PredicateFailed: a test raised.
        """
        place = self.root
        while isinstance(place, int):
            branch = self.branches[place]
            answer = ask(branch.predicate, ctx, f"decision {branch.label!r}")
            place = branch.when_true if answer else branch.when_false
        return place if place in self.skill_ids else None

    def reachable(self, current: str | None) -> tuple[str, ...]:
        """All leaves, wherever the conversation stands."""
        del current
        return unique(leaf.skill_id for leaf in self.leaves if leaf.skill_id in self.skill_ids)


@dataclass(slots=True)
class _Draft:
    decision: Decision
    children: dict[Literal["yes", "no"], Child]


@dataclass(frozen=True, slots=True)
class _Visit:
    node: TreeNode
    parent: int | None
    answer: Literal["yes", "no"] | None
    path: tuple[PathStep, ...]


def flatten(root: TreeNode, skill_ids: frozenset[str]) -> TreeRouting:
    """Lay out a tree in preorder. One decision used in two places is two branches: each has its own path."""
    drafts: list[_Draft] = []
    arrivals: list[Arrival] = []
    leaves: list[Leaf] = []
    pending = [_Visit(root, None, None, ())]
    while pending:
        visit = pending.pop()
        child: Child
        match visit.node:
            case Decision() as decision:
                child = len(drafts)
                drafts.append(_Draft(decision, {}))
                pending.append(_Visit(decision.when_false, child, "no", (*visit.path, _step(decision, "no"))))
                pending.append(_Visit(decision.when_true, child, "yes", (*visit.path, _step(decision, "yes"))))
            case leaf:
                child = leaf_id(leaf)
                leaves.append(Leaf(child, visit.path))
        arrivals.append(Arrival(visit.parent, visit.answer, child))
        if visit.parent is not None and visit.answer is not None:
            drafts[visit.parent].children[visit.answer] = child
    return TreeRouting(
        root=arrivals[0].child,
        branches=tuple(_finished(draft) for draft in drafts),
        arrivals=tuple(arrivals),
        leaves=tuple(leaves),
        skill_ids=skill_ids,
    )


def leaf_id(leaf: Skill | str) -> str:
    return leaf.id if isinstance(leaf, Skill) else leaf


def leaf_skills(root: TreeNode) -> Sequence[Skill]:
    """The skills given as leaves (not by id), in preorder, repeats included."""
    found: list[Skill] = []
    pending = [root]
    while pending:
        match pending.pop():
            case Decision() as decision:
                pending += (decision.when_false, decision.when_true)
            case Skill() as skill:
                found.append(skill)
            case str():
                pass
    return found


def _step(decision: Decision, branch: Literal["yes", "no"]) -> PathStep:
    return MappingProxyType({"label": decision.label, "branch": branch})


def _finished(draft: _Draft) -> Branch:
    return Branch(draft.decision.predicate, draft.decision.label, draft.children["yes"], draft.children["no"])
