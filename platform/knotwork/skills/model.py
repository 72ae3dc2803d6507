"""The values of a skill graph: skills, the context of a turn, conditions, edges and nodes.

Terms. A **skill** is a set of instructions and tools for one kind of work. The **cursor** is the skill on which a
conversation stands. An **entry** is where it may start, a **route** how it moves on; START is the place before any
skill. **Declared** is what a user wrote; **compiled** is the graph made of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

from knotwork.skills.errors import InvalidSkillGraph, PredicateFailed

Argument = TypeVar("Argument")

PROVENANCE_KEY = "skill_graph"  # where a compiled skill's metadata says how it is reached


@dataclass(frozen=True, slots=True)
class Skill:
    """One kind of work: what the model is told and which tools it has for it.

    `description` is what an entry is scored on. `auto_activate` says when the tools reach the model: "current_skill"
    only while the skill is active, "always" at all times; None leaves the choice to the graph (a leaf of a tree
    becomes "current_skill" unless the tree says otherwise), and outside a tree means "always".
    """

    id: str
    description: str = ""
    instructions: str = ""
    tools: tuple[str, ...] = ()
    metadata: Mapping[str, object] = field(default_factory=dict[str, object], hash=False)
    auto_activate: Literal["current_skill", "always"] | None = None

    def __post_init__(self) -> None:
        if not self.id.strip():
            raise InvalidSkillGraph("a skill needs an id that is not blank; give it a short name such as 'triage'")
        object.__setattr__(self, "tools", tuple(self.tools))
        object.__setattr__(self, "metadata", MappingProxyType(dict(self.metadata)))


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What the tool called last gave back. `result` is whatever the tool returned."""

    tool_name: str
    result: Any = None


@dataclass(frozen=True, slots=True)
class SkillContext:
    """All that routing may look at, for one iteration of one turn.

    `last_tool_result` is of the iteration just before, so that a result is routed on once. `chosen_entry_id` is what
    `score_entries` chose for this turn: a graph with a scorer starts there.
    """

    user_message: str = ""
    iteration: int = 0
    current_skill_id: str | None = None
    last_tool_result: ToolResult | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    chosen_entry_id: str | None = None

    def next(self, current_skill_id: str | None, last_tool_result: ToolResult | None = None) -> SkillContext:
        """The context of the next iteration: the cursor moved, the tool result replaced."""
        return replace(
            self,
            iteration=self.iteration + 1,
            current_skill_id=current_skill_id,
            last_tool_result=last_tool_result,
        )


ContextPredicate: TypeAlias = Callable[[SkillContext], bool]
ResultPredicate: TypeAlias = Callable[[ToolResult], bool]


class NamePattern(Protocol):
    """What `re.compile` gives, or anything that searches in a text as it does."""

    @property
    def pattern(self) -> str: ...

    def search(self, string: str, /) -> object | None: ...


ToolPattern: TypeAlias = str | NamePattern  # an exact name, or a pattern searched in the name


def ask(predicate: Callable[[Argument], bool], argument: Argument, where: str) -> bool:
    """Evaluate a condition of the user's.

    Raises:
        PredicateFailed: the condition raised; `where` names it.
    """
    try:
        return bool(predicate(argument))
    except Exception as error:
        raise PredicateFailed(where, f"{type(error).__name__}: {error}") from error


class EdgeKind(StrEnum):
    """How an edge is taken: by starting, by a condition, by a tool's return, or at the model's request."""

    ENTRY = "entry"
    PREDICATE = "predicate"
    ON_TOOL_RETURN = "on-tool-return"
    MODEL = "model"


@dataclass(frozen=True, slots=True)
class SkillEdge:
    """An edge of the compiled graph. `from_id` None is START; in a tree, either end may be a predicate node."""

    from_id: str | None
    to_id: str
    kind: EdgeKind
    label: str | None = None


@dataclass(frozen=True, slots=True)
class SkillNode:
    """A node of the compiled graph: a skill, or a predicate of a tree."""

    id: str
    kind: Literal["predicate", "skill"]
    label: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A declared start. Without `when` it matches every context."""

    skill_id: str
    when: ContextPredicate | None = None
    label: str | None = None

    def matches(self, ctx: SkillContext) -> bool:
        return self.when is None or ask(self.when, ctx, f"entry {self.skill_id!r}")

    @property
    def edge(self) -> SkillEdge:
        return SkillEdge(None, self.skill_id, EdgeKind.ENTRY, self.label)


@dataclass(frozen=True, slots=True)
class Route:
    """A declared move from one skill to another, on the last tool result. Both conditions hold where both are set.

    Raises:
        InvalidSkillGraph: neither condition is set; such a route could never fire.
    """

    from_id: str
    to_id: str
    when: ResultPredicate | None = None
    on_tool_return: ToolPattern | None = None
    label: str | None = None
    priority: int | None = None  # lower first; a route without one comes after those that have one

    def __post_init__(self) -> None:
        if self.when is None and self.on_tool_return is None:
            raise InvalidSkillGraph(
                f"the route {self.from_id!r} → {self.to_id!r} has no condition; give it `when` (a test of the last "
                "tool result) or `on_tool_return` (a tool's name or a compiled pattern)"
            )

    def fires(self, last: ToolResult | None) -> bool:
        return last is not None and ask(self._holds, last, f"route {self.from_id!r} → {self.to_id!r}")

    def _holds(self, last: ToolResult) -> bool:
        match self.on_tool_return:
            case None:
                returned = True
            case str() as exact:
                returned = last.tool_name == exact
            case pattern:
                returned = pattern.search(last.tool_name) is not None
        return returned and (self.when is None or self.when(last))

    @property
    def edge(self) -> SkillEdge:
        if self.on_tool_return is None:
            return SkillEdge(self.from_id, self.to_id, EdgeKind.PREDICATE, self.label)
        return SkillEdge(self.from_id, self.to_id, EdgeKind.ON_TOOL_RETURN, self.label or self._default_label())

    def _default_label(self) -> str:
        tool = self.on_tool_return
        name = tool if tool is None or isinstance(tool, str) else f"/{tool.pattern}/"
        return f"on {name}" if self.when is None else f"on {name}, if"


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """An inner node of a tree: a test of the context with a branch for each answer. Made by `decide_skill`."""

    predicate: ContextPredicate
    when_true: TreeNode
    when_false: TreeNode
    label: str = "decision"


TreeNode: TypeAlias = Decision | Skill | str  # a leaf is a skill or the id of one


def decide_skill(
    predicate: ContextPredicate, when_true: TreeNode, when_false: TreeNode, label: str = "decision"
) -> Decision:
    """A node of a decision tree; `label` is what its diamond shows."""
    return Decision(predicate, when_true, when_false, label)


def unique(ids: Iterable[str]) -> tuple[str, ...]:
    """The ids without repeats, in the order of their first mention."""
    return tuple(dict.fromkeys(ids))
