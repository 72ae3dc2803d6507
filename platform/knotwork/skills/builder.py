"""The fluent form: `skill_graph().entry(a).route(a, b, on_tool_return="search").build()`."""

from __future__ import annotations

from typing import Self

from knotwork.ports.models import Embedder
from knotwork.skills.compile import CheckMode, Declaration, compile_graph
from knotwork.skills.errors import InvalidSkillGraph
from knotwork.skills.graph import SkillGraph
from knotwork.skills.model import (
    ContextPredicate,
    Entry,
    ResultPredicate,
    Route,
    Skill,
    ToolPattern,
    TreeNode,
)
from knotwork.skills.scoring import EmbeddingScorer, EntryScorer
from knotwork.skills.tree import leaf_skills


def skill_graph() -> SkillGraphBuilder:
    """Start to declare a graph."""
    return SkillGraphBuilder()


class SkillGraphBuilder:
    """Gathers skills and edges; `build` compiles them.

    Wherever a skill is asked for, its id may stand instead, once or before the skill itself is given. Each call
    refuses at once what no other call can mend (InvalidSkillGraph); the rest is the check-up's, in `build`.
    """

    def __init__(self) -> None:
        self._skills: dict[str, Skill] = {}
        self._entries: list[Entry] = []
        self._routes: list[Route] = []
        self._scorer: EntryScorer | None = None
        self._by_read = False
        self._tree: TreeNode | None = None
        self._scope_tools = True

    def skill(self, *skills: Skill) -> Self:
        """List skills without wiring them; those that no edge reaches are loaded only at the model's request."""
        for skill in skills:
            self._id(skill)
        return self

    def entry(self, skill: Skill | str, *, when: ContextPredicate | None = None, label: str | None = None) -> Self:
        """Where a conversation may start; without `when`, always."""
        self._entries.append(Entry(self._id(skill), when, label))
        return self

    def route(
        self,
        from_skill: Skill | str,
        to_skill: Skill | str,
        *,
        when: ResultPredicate | None = None,
        on_tool_return: ToolPattern | None = None,
        label: str | None = None,
        priority: int | None = None,
    ) -> Self:
        """How a conversation moves on, seen from the last tool result.

        Args:
            from_skill: The route fires only while the cursor is on it.
            to_skill: Where the cursor goes.
            when: A test of the last tool result.
            on_tool_return: A tool's exact name, or a compiled pattern that is searched in it.
            label: What the drawing shows; "on <tool>" unless given.
            priority: Lower first; a route without one comes after those with one, then in the order declared.
        Raises:
            InvalidSkillGraph: neither condition is given. With both, both must hold.
        """
        route = Route(self._id(from_skill), self._id(to_skill), when, on_tool_return, label, priority)
        self._routes.append(route)
        return self

    def tree(self, root: TreeNode, *, scope_tools: bool = True) -> Self:
        """Route by a decision tree instead of entries and routes.

        Args:
            root: Of `decide_skill`, or a single skill.
            scope_tools: Give each leaf `auto_activate="current_skill"`, unless the skill says otherwise.
        """
        if self._tree is not None:
            raise InvalidSkillGraph("the graph already has a tree; join both with decide_skill")
        for skill in leaf_skills(root):
            self._id(skill)
        self._tree, self._scope_tools = root, scope_tools
        return self

    def entry_by(self, scorer: EntryScorer) -> Self:
        """Start at the entry that a scorer ranks highest, once a turn (`SkillGraph.score_entries`)."""
        self._refuse_second_choice()
        self._scorer = scorer
        return self

    def entry_by_relevance(self, embedder: Embedder) -> Self:
        """Start at the entry nearest in meaning; when the embedder fails, keywords decide and the outcome says so."""
        return self.entry_by(EmbeddingScorer(embedder))

    def entry_by_read(self) -> Self:
        """Let the model read the menu of entries and pick; until it does, there is no cursor."""
        self._refuse_second_choice()
        self._by_read = True
        return self

    def build(self, check: CheckMode = "warn") -> SkillGraph:
        """Compile. The check-up's findings are raised (errors only), warned of, or left to `checkup()`.

        Raises:
            InvalidSkillGraph: a tree stands beside entries, routes or a choice of entries; or `check` is "throw" and
                there is an error.
        """
        return compile_graph(self.declaration(), check)

    def declaration(self) -> Declaration:
        """What was gathered so far.

        Raises:
            InvalidSkillGraph: a tree stands beside entries, routes or a choice of entries.
        """
        if self._tree is not None:
            beside = {
                "entry": bool(self._entries),
                "route": bool(self._routes),
                "entry_by": self._scorer is not None,
                "entry_by_read": self._by_read,
            }
            refuse_beside_tree([name for name, used in beside.items() if used])
        return Declaration(
            skills=tuple(self._skills.values()),
            entries=tuple(self._entries),
            routes=tuple(self._routes),
            scorer=self._scorer,
            by_read=self._by_read,
            tree=self._tree,
            scope_tools=self._scope_tools,
        )

    def _id(self, skill: Skill | str) -> str:
        if isinstance(skill, str):
            return skill
        if self._skills.setdefault(skill.id, skill) != skill:
            raise InvalidSkillGraph(f"two different skills have the id {skill.id!r}; rename one of them")
        return skill.id

    def _refuse_second_choice(self) -> None:
        if self._scorer is not None or self._by_read:
            raise InvalidSkillGraph(
                "the entries are already chosen; use one of entry_by, entry_by_relevance and entry_by_read"
            )


def refuse_beside_tree(names: list[str]) -> None:
    """
    Raises:
        InvalidSkillGraph: anything is named; a tree would silently win over it.
    """
    if names:
        raise InvalidSkillGraph(
            f"a tree routes by itself, so {', '.join(names)} cannot stand beside it; remove them, or drop the tree"
        )
