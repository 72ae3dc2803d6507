"""The configuration form: the whole graph as one mapping. It compiles to the same graph as the fluent form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Required, TypeAlias, TypedDict, cast

from knotwork.ports.models import Embedder
from knotwork.skills.builder import SkillGraphBuilder, refuse_beside_tree
from knotwork.skills.compile import CheckMode, compile_graph
from knotwork.skills.errors import InvalidSkillGraph
from knotwork.skills.graph import SkillGraph
from knotwork.skills.model import ContextPredicate, ResultPredicate, Skill, ToolPattern, TreeNode
from knotwork.skills.scoring import EntryScorer


class StartAt(TypedDict, total=False):
    """One start: the skill's id, and what an entry takes."""

    use: Required[str]
    when: ContextPredicate
    label: str


class StartByRules(TypedDict):
    """The first rule that matches; a rule without `when` always does."""

    rules: Sequence[StartAt]


class StartByChoice(TypedDict, total=False):
    """A menu of entries: ranked by `scored_by`, else by `by_relevance`, else read and picked by the model."""

    entries: Required[Sequence[str | StartAt]]
    scored_by: EntryScorer | None
    by_relevance: Embedder | None


Start: TypeAlias = str | StartAt | StartByRules | StartByChoice

StepConfig = TypedDict(
    "StepConfig",
    {
        "from": Required[str],
        "to": Required[str],
        "when": ResultPredicate,
        "on_tool_return": ToolPattern,
        "label": str,
        "priority": int,
    },
    total=False,
)
"""One route, as `route(...)` takes it."""


class GraphConfig(TypedDict, total=False):
    """The whole graph. `skills` lists all of them, wired or not, so that the check-up can find the unwired."""

    skills: Required[Sequence[Skill]]
    start: Start
    steps: Sequence[StepConfig]
    tree: TreeNode
    scope_tools: bool  # of a tree
    check: CheckMode  # "throw" unless given


_STARTS = "an id, {use}, {rules}, or {entries} with scored_by or by_relevance"
_START_KEYS = {
    "use": {"use", "when", "label"},
    "rules": {"rules"},
    "entries": {"entries", "scored_by", "by_relevance"},
}


def graph_from_config(config: GraphConfig) -> SkillGraph:
    """Compile a graph from its configuration form.

    Raises:
        InvalidSkillGraph: an unknown or missing key, a step without a condition, `start` or `steps` beside a tree,
            `scope_tools` without one; or the check-up finds an error while `check` is "throw", the default.
    """
    _keys(config, GraphConfig.__optional_keys__, "the graph", needs={"skills"})
    builder = SkillGraphBuilder().skill(*config["skills"])
    if "tree" in config:
        refuse_beside_tree([key for key in ("start", "steps") if key in config])
        builder.tree(config["tree"], scope_tools=config.get("scope_tools", True))
    elif "scope_tools" in config:
        raise InvalidSkillGraph(
            "scope_tools belongs to a tree; set auto_activate='current_skill' on the skills instead"
        )
    if "start" in config:
        _start(builder, config["start"])
    for place, step in enumerate(config.get("steps", ())):
        _keys(step, StepConfig.__optional_keys__, f"steps[{place}]", needs={"from", "to"})
        ends = {"from", "to"}
        conditions = cast("Any", {key: value for key, value in step.items() if key not in ends})
        builder.route(step["from"], step["to"], **conditions)
    return compile_graph(builder.declaration(), config.get("check", "throw"))


def _start(builder: SkillGraphBuilder, start: Start) -> None:
    if isinstance(start, str):
        builder.entry(start)
        return
    form = next((key for key in _START_KEYS if key in start), None)
    if form is None:
        raise InvalidSkillGraph(f"start is {_STARTS}; got the keys {sorted(start)}")
    _keys(start, _START_KEYS[form], "start", needs={form})
    if "use" in start:
        _entry(builder, start, "start")
    elif "rules" in start:
        for place, rule in enumerate(start["rules"]):
            _entry(builder, rule, f"start.rules[{place}]")
    else:
        for place, entry in enumerate(start["entries"]):
            _entry(builder, entry, f"start.entries[{place}]")
        _choice(builder, start)


def _entry(builder: SkillGraphBuilder, entry: str | StartAt, where: str) -> None:
    if isinstance(entry, str):
        builder.entry(entry)
        return
    _keys(entry, _START_KEYS["use"], where, needs={"use"})
    builder.entry(entry["use"], when=entry.get("when"), label=entry.get("label"))


def _choice(builder: SkillGraphBuilder, start: StartByChoice) -> None:
    scorer, embedder = start.get("scored_by"), start.get("by_relevance")
    if scorer is not None:
        builder.entry_by(scorer)
    elif embedder is not None:
        builder.entry_by_relevance(embedder)
    else:
        builder.entry_by_read()


def _keys(given: Mapping[str, object], allowed: set[str] | frozenset[str], where: str, *, needs: set[str]) -> None:
    """A misspelt key would silently change the graph, so it is refused."""
    unknown = sorted(set(given) - allowed - needs)
    if unknown:
        raise InvalidSkillGraph(f"{where} has unknown keys {unknown}; use {sorted(allowed | needs)}")
    missing = sorted(needs - set(given))
    if missing:
        raise InvalidSkillGraph(f"{where} lacks {missing}")
