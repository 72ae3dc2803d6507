"""Graphs declared as data: a YAML or JSON file, with conditions written in the language of `expressions`.

The form is that of `config`, with text for its objects: a condition is an expression, a pattern of tool names is
`{matches: ...}`, a test of a tree is `{if, then, else, label}`, a scorer is named. `schema.json` says the same as a
JSON Schema. Nothing of the file is executed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal, TypeVar, cast

from knotwork.ports.models import Embedder
from knotwork.skills.config import GraphConfig, Start, StartAt, StartByChoice, StepConfig, graph_from_config
from knotwork.skills.document import Located, read_document
from knotwork.skills.expressions import ExpressionError, context_condition, result_condition
from knotwork.skills.graph import SkillGraph
from knotwork.skills.model import Skill, ToolPattern, TreeNode, decide_skill
from knotwork.skills.patterns import timed_pattern
from knotwork.skills.scoring import DEFAULT_TEMPERATURE, EmbeddingScorer, EntryScorer, KeywordScorer

Condition = TypeVar("Condition")

_GRAPH = frozenset({"skills", "start", "steps", "tree", "scope_tools", "check"})
_SKILL = frozenset({"id", "description", "instructions", "tools", "metadata", "auto_activate"})
_ENTRY = frozenset({"use", "when", "label"})
_CHOICE = frozenset({"entries", "scored_by", "by_relevance", "temperature"})
_STEP = frozenset({"from", "to", "when", "on_tool_return", "label", "priority"})
_DECISION = frozenset({"if", "then", "else", "label"})


def load_graph(text: str, *, embedder: Embedder | None = None) -> SkillGraph:
    """Compile a graph from the text of its file: `read_config`, then `graph_from_config`.

    Args:
        text: YAML or JSON.
        embedder: For `by_relevance: true`.
    Raises:
        InvalidDeclaration: the text cannot be read; line and column say where.
        InvalidSkillGraph: the check-up refuses what was read (`check: throw`, the default).
    """
    return graph_from_config(read_config(text, embedder=embedder))


def read_config(text: str, *, embedder: Embedder | None = None) -> GraphConfig:
    """The configuration form of a graph, from the text of its file, neither compiled nor checked. Raises as above."""
    return _Reader(embedder).graph(read_document(text))


def json_schema() -> dict[str, Any]:
    """The JSON Schema of the file."""
    return json.loads(files("knotwork.skills").joinpath("schema.json").read_text(encoding="utf-8"))


@dataclass(frozen=True, slots=True)
class _Reader:
    embedder: Embedder | None

    def graph(self, document: Located) -> GraphConfig:
        fields = document.fields(_GRAPH, needs=frozenset({"skills"}))
        for key in ("start", "steps"):
            if key in fields and "tree" in fields:
                raise fields[key].error(f"{key} cannot stand beside a tree; remove it, or drop the tree")
        if "scope_tools" in fields and "tree" not in fields:
            raise fields["scope_tools"].error("scope_tools belongs to a tree; set auto_activate on the skills instead")
        config: GraphConfig = {"skills": _skills(fields["skills"])}
        if "start" in fields:
            config["start"] = self._start(fields["start"])
        if "steps" in fields:
            config["steps"] = [_step(item) for item in fields["steps"].items()]
        if "tree" in fields:
            config["tree"] = _tree(fields["tree"])
        if "scope_tools" in fields:
            config["scope_tools"] = fields["scope_tools"].boolean()
        if "check" in fields:
            config["check"] = cast('Literal["throw", "warn", "off"]', _one_of(fields["check"], "throw", "warn", "off"))
        return config

    def _start(self, start: Located) -> Start:
        if start.is_text:
            return start.text()
        keys = start.fields(_ENTRY | _CHOICE | {"rules"})
        if "use" in keys:
            return _entry(start)
        if "rules" in keys:
            rules = start.fields(frozenset({"rules"}))["rules"]
            return {"rules": [_entry(rule) for rule in rules.items()]}
        if "entries" not in keys:
            raise start.error("start is an id, or has one of the keys use, rules and entries")
        return self._choice(start.fields(_CHOICE))

    def _choice(self, fields: dict[str, Located]) -> StartByChoice:
        entries = [item.text() if item.is_text else _entry(item) for item in fields["entries"].items()]
        scorer = self._scorer(fields)
        if scorer is None:
            if "temperature" in fields:
                raise fields["temperature"].error("a temperature needs scored_by or by_relevance")
            return {"entries": entries}
        return {"entries": entries, "scored_by": scorer}

    def _scorer(self, fields: dict[str, Located]) -> EntryScorer | None:
        temperature = fields["temperature"].number() if "temperature" in fields else DEFAULT_TEMPERATURE
        if not 0 < temperature < float("inf"):
            raise fields["temperature"].error("a temperature is a finite number above 0")
        if "scored_by" in fields:
            _one_of(fields["scored_by"], "keyword")
            return KeywordScorer(temperature)
        if "by_relevance" not in fields or not fields["by_relevance"].boolean():
            return None
        if self.embedder is None:
            raise fields["by_relevance"].error("by_relevance needs an embedder; give one, or use scored_by: keyword")
        return EmbeddingScorer(self.embedder, temperature)


def _skills(listed: Located) -> list[Skill]:
    found: dict[str, Skill] = {}
    for item in listed.items():
        fields = item.fields(_SKILL, needs=frozenset({"id"}))
        skill_id = fields["id"].text()
        if not skill_id.strip():
            raise fields["id"].error("an id must not be blank")
        if skill_id in found:
            raise fields["id"].error(f"a second skill with the id {skill_id!r}; rename one of them")
        found[skill_id] = _skill(skill_id, fields)
    return list(found.values())


def _skill(skill_id: str, fields: dict[str, Located]) -> Skill:
    auto = _one_of(fields["auto_activate"], "current_skill", "always") if "auto_activate" in fields else None
    metadata = fields["metadata"].data() if "metadata" in fields else {}
    if not isinstance(metadata, dict):
        raise fields["metadata"].error("metadata is a mapping")
    return Skill(
        skill_id,
        description=fields["description"].text() if "description" in fields else "",
        instructions=fields["instructions"].text() if "instructions" in fields else "",
        tools=tuple(tool.text() for tool in fields["tools"].items()) if "tools" in fields else (),
        metadata=cast("dict[str, object]", metadata),
        auto_activate=cast('Literal["current_skill", "always"] | None', auto),
    )


def _entry(item: Located) -> StartAt:
    fields = item.fields(_ENTRY, needs=frozenset({"use"}))
    entry: StartAt = {"use": fields["use"].text()}
    if "when" in fields:
        entry["when"] = _condition(fields["when"], context_condition)
    if "label" in fields:
        entry["label"] = fields["label"].text()
    return entry


def _step(item: Located) -> StepConfig:
    fields = item.fields(_STEP, needs=frozenset({"from", "to"}))
    if "when" not in fields and "on_tool_return" not in fields:
        raise item.error("a step needs a condition: when, or on_tool_return")
    step: StepConfig = {"from": fields["from"].text(), "to": fields["to"].text()}
    if "when" in fields:
        step["when"] = _condition(fields["when"], result_condition)
    if "on_tool_return" in fields:
        step["on_tool_return"] = _tool(fields["on_tool_return"])
    if "label" in fields:
        step["label"] = fields["label"].text()
    if "priority" in fields:
        step["priority"] = fields["priority"].integer()
    return step


def _tool(tool: Located) -> ToolPattern:
    if not tool.is_mapping:
        return tool.text()
    pattern = tool.fields(frozenset({"matches"}), needs=frozenset({"matches"}))["matches"]
    try:
        return timed_pattern(pattern.text())
    except ValueError as error:
        raise pattern.error(str(error)) from None


def _tree(node: Located) -> TreeNode:
    # As deep as the document, which is bounded.
    if node.is_text:
        return node.text()
    fields = node.fields(_DECISION, needs=frozenset({"if", "then", "else"}))
    condition = _condition(fields["if"], context_condition)
    label = fields["label"].text() if "label" in fields else condition.source
    return decide_skill(condition, _tree(fields["then"]), _tree(fields["else"]), label)


def _condition(item: Located, read: Callable[[str], Condition]) -> Condition:
    try:
        return read(item.text())
    except ExpressionError as error:
        raise item.error(error.reason, error.position) from None


def _one_of(item: Located, *choices: str) -> str:
    value = item.text()
    if value not in choices:
        raise item.error(f"{value!r} is none of {', '.join(choices)}")
    return value
