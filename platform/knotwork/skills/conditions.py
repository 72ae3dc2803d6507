"""Conditions as data: what `expressions` makes of text. Evaluated, never executed; equal where their meaning is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

from knotwork.skills.model import SkillContext, ToolResult
from knotwork.skills.patterns import TimedPattern

Environment: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ContextCondition:
    """A condition over the context: the `when` of an entry, or the test of a tree."""

    source: str = field(compare=False)  # as written, for traces
    node: Node

    def __call__(self, ctx: SkillContext) -> bool:
        last = ctx.last_tool_result
        return bool(
            self.node.value(
                {
                    "message": ctx.user_message,
                    "iteration": ctx.iteration,
                    "skill": ctx.current_skill_id,
                    "tool": None if last is None else last.tool_name,
                    "result": None if last is None else last.result,
                    "metadata": ctx.metadata,
                }
            )
        )


@dataclass(frozen=True, slots=True)
class ResultCondition:
    """A condition over the last tool result: the `when` of a route."""

    source: str = field(compare=False)  # as written, for traces
    node: Node

    def __call__(self, last: ToolResult) -> bool:
        return bool(self.node.value({"tool": last.tool_name, "result": last.result}))


# The tree of a condition -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Constant:
    constant: str | int | float | bool | None

    def value(self, _env: Environment) -> Any:
        return self.constant


@dataclass(frozen=True, slots=True)
class Path:
    name: str
    keys: tuple[str | int, ...] = ()

    def value(self, env: Environment) -> Any:
        place = env[self.name]
        for key in self.keys:
            place = _item(place, key)
        return place


@dataclass(frozen=True, slots=True)
class Not:
    part: Node

    def value(self, env: Environment) -> bool:
        return not self.part.value(env)


@dataclass(frozen=True, slots=True)
class All:
    parts: tuple[Node, ...]

    def value(self, env: Environment) -> bool:
        return all(part.value(env) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Some:
    parts: tuple[Node, ...]

    def value(self, env: Environment) -> bool:
        return any(part.value(env) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Comparison:
    operator: str
    left: Node
    right: Node

    def value(self, env: Environment) -> bool:
        return OPERATORS[self.operator](self.left.value(env), self.right.value(env))


@dataclass(frozen=True, slots=True)
class Matches:
    left: Node
    pattern: TimedPattern

    def value(self, env: Environment) -> bool:
        text = self.left.value(env)
        return isinstance(text, str) and self.pattern.search(text) is not None


Node: TypeAlias = Constant | Path | Not | All | Some | Comparison | Matches


def _item(place: Any, key: str | int) -> Any:
    if isinstance(place, Mapping):
        return cast("Mapping[Any, Any]", place).get(key)
    if isinstance(place, Sequence) and not isinstance(place, str) and isinstance(key, int):
        items = cast("Sequence[Any]", place)
        return items[key] if 0 <= key < len(items) else None
    return None


def _equal(left: Any, right: Any) -> bool:
    if isinstance(left, bool) != isinstance(right, bool):
        return False  # Python takes True for 1
    return bool(left == right)


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def holds(left: Any, right: Any) -> bool:
        return _comparable(left, right) and compare(left, right)

    return holds


def _comparable(left: Any, right: Any) -> bool:
    if isinstance(left, bool) or isinstance(right, bool):
        return False
    if isinstance(left, str):
        return isinstance(right, str)
    return isinstance(left, int | float) and isinstance(right, int | float)


def _contains(left: Any, right: Any) -> bool:
    if isinstance(left, str):
        return isinstance(right, str) and right.casefold() in left.casefold()
    if isinstance(left, Mapping):
        return any(_equal(key, right) for key in cast("Mapping[Any, Any]", left))
    if isinstance(left, Sequence):
        return any(_equal(item, right) for item in cast("Sequence[Any]", left))
    return False


OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": _equal,
    "!=": lambda left, right: not _equal(left, right),
    "<": _ordered(lambda left, right: left < right),
    "<=": _ordered(lambda left, right: left <= right),
    ">": _ordered(lambda left, right: left > right),
    ">=": _ordered(lambda left, right: left >= right),
    "contains": _contains,
}
