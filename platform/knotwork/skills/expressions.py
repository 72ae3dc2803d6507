"""Conditions written as text: a small language over the context, with no code in it.

    message matches "(?i)refund" and not (metadata.tier == "free" or iteration >= 3)

    condition  = and-part { "or" and-part }
    and-part   = not-part { "and" not-part }
    not-part   = "not" not-part | test
    test       = value [ ("==" | "!=" | "<" | "<=" | ">" | ">=" | "contains") value | "matches" text ]
    value      = text | number | "true" | "false" | "null" | name { "." word | "[" (text | number) "]" }
               | "(" condition ")"

Names: `message`, `iteration`, `skill` (the cursor), `tool`, `result`, `metadata`; of a route only `tool` and `result`.
What is not there is null. Nothing is converted: an order of two values that are not both numbers or both texts does not
hold. `contains` looks for a text in a text (ignoring case), an item in a list, a key in a mapping. `matches` searches a
regular expression, under a time limit. A value alone holds when it is neither null, false, zero nor empty.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypeVar

from knotwork.skills.conditions import (
    OPERATORS,
    All,
    Comparison,
    Constant,
    ContextCondition,
    Matches,
    Node,
    Not,
    Path,
    ResultCondition,
    Some,
)
from knotwork.skills.patterns import TimedPattern, timed_pattern

MAX_LENGTH = 2_000  # characters of a condition
MAX_DEPTH = 50  # of brackets and nots; far below what would exhaust the interpreter's stack

Scope: TypeAlias = Literal["context", "result"]
Part = TypeVar("Part")

NAMES: Mapping[Scope, frozenset[str]] = {
    "context": frozenset({"message", "iteration", "skill", "tool", "result", "metadata"}),
    "result": frozenset({"tool", "result"}),
}


class ExpressionError(ValueError):
    """A condition that cannot be read. `position` counts characters from 0."""

    def __init__(self, reason: str, position: int) -> None:
        super().__init__(f"{reason}, at character {position + 1}")
        self.reason, self.position = reason, position


def context_condition(source: str) -> ContextCondition:
    """
    Raises:
        ExpressionError: the text is no condition.
    """
    return ContextCondition(source, _Parser(source, "context").parse())


def result_condition(source: str) -> ResultCondition:
    """
    Raises:
        ExpressionError: the text is no condition, or names what a route does not see.
    """
    return ResultCondition(source, _Parser(source, "result").parse())


_TOKEN = re.compile(
    r"""\s*(?:
        (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | (?P<number>-?\d+(?:\.\d+)?(?![\w.]))
      | (?P<word>[^\W\d]\w*)
      | (?P<sign>==|!=|<=|>=|<|>|\(|\)|\[|\]|\.)
    )""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\([\"'\\])")  # any other backslash stands for itself: regular expressions are full of them
_CONSTANTS: Mapping[str, bool | None] = {"true": True, "false": False, "null": None}
_KEYWORDS = frozenset({"and", "or", "not", "contains", "matches", *_CONSTANTS})


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str  # text, number, word, sign, or end
    value: str
    position: int


def _tokens(source: str) -> Iterator[_Token]:
    place = 0
    end = len(source.rstrip())
    while place < end:
        found = _TOKEN.match(source, place)
        if found is None or found.lastgroup is None:
            start = place + len(source[place:]) - len(source[place:].lstrip())
            reason = "a text without its closing quote" if source[start] in "\"'" else f"unexpected {source[start]!r}"
            raise ExpressionError(reason, start)
        yield _Token(found.lastgroup, found[found.lastgroup], found.start(found.lastgroup))
        place = found.end()
    yield _Token("end", "", end)


class _Parser:
    """Recursive descent, one method for each rule of the grammar in the module's docstring."""

    def __init__(self, source: str, scope: Scope) -> None:
        if len(source) > MAX_LENGTH:
            raise ExpressionError(f"a condition has at most {MAX_LENGTH} characters", MAX_LENGTH)
        self._tokens = list(_tokens(source))
        self._place = 0
        self._depth = 0
        self._scope: Scope = scope

    def parse(self) -> Node:
        node = self._condition()
        if self._token.kind != "end":
            raise self._unexpected("and, or, or the end")
        return node

    def _condition(self) -> Node:
        parts = [self._and_part()]
        while self._take("or"):
            parts.append(self._and_part())
        return parts[0] if len(parts) == 1 else Some(tuple(parts))

    def _and_part(self) -> Node:
        parts = [self._not_part()]
        while self._take("and"):
            parts.append(self._not_part())
        return parts[0] if len(parts) == 1 else All(tuple(parts))

    def _not_part(self) -> Node:
        if self._take("not"):
            return Not(self._nested(self._not_part))
        return self._test()

    def _test(self) -> Node:
        left = self._value()
        if self._take("matches"):
            return Matches(left, self._pattern())
        operator = self._token.value if self._token.kind in {"sign", "word"} else ""
        if operator not in OPERATORS:
            return left
        self._place += 1
        return Comparison(operator, left, self._value())

    def _pattern(self) -> TimedPattern:
        token = self._next("text", "a regular expression in quotes")
        try:
            return timed_pattern(_unquoted(token.value))
        except ValueError as error:
            raise ExpressionError(str(error), token.position) from None

    def _value(self) -> Node:
        if self._take("("):
            node = self._nested(self._condition)
            if not self._take(")"):
                raise self._unexpected("a closing bracket")
            return node
        token = self._token
        match token.kind:
            case "text":
                self._place += 1
                return Constant(_unquoted(token.value))
            case "number":
                self._place += 1
                return Constant(_number(token.value))
            case "word" if token.value in _CONSTANTS:
                self._place += 1
                return Constant(_CONSTANTS[token.value])
            case "word" if token.value not in _KEYWORDS:
                return self._path()
            case _:
                raise self._unexpected("a value")

    def _path(self) -> Path:
        token = self._next("word", "a name")
        allowed = NAMES[self._scope]
        if token.value not in allowed:
            note = "; a route sees the last tool result only" if token.value in NAMES["context"] else ""
            raise ExpressionError(
                f"unknown name {token.value!r}; use {', '.join(sorted(allowed))}{note}", token.position
            )
        keys: list[str | int] = []
        while True:
            if self._take("."):
                keys.append(self._next("word", "a key").value)
            elif self._take("["):
                keys.append(self._key())
            else:
                return Path(token.value, tuple(keys))

    def _key(self) -> str | int:
        token = self._token
        if token.kind == "text":
            key: str | int = _unquoted(token.value)
        elif token.kind == "number" and token.value.isdecimal():
            key = int(token.value)
        else:
            raise self._unexpected("a key in quotes, or a place counted from 0")
        self._place += 1
        if not self._take("]"):
            raise self._unexpected("a closing bracket")
        return key

    def _nested(self, rule: Callable[[], Part]) -> Part:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ExpressionError(f"more than {MAX_DEPTH} brackets and nots within each other", self._token.position)
        part = rule()
        self._depth -= 1
        return part

    @property
    def _token(self) -> _Token:
        return self._tokens[self._place]

    def _take(self, value: str) -> bool:
        taken = self._token.kind in {"word", "sign"} and self._token.value == value
        self._place += taken
        return taken

    def _next(self, kind: str, wanted: str) -> _Token:
        token = self._token
        if token.kind != kind:
            raise self._unexpected(wanted)
        self._place += 1
        return token

    def _unexpected(self, wanted: str) -> ExpressionError:
        found = "the end" if self._token.kind == "end" else repr(self._token.value)
        return ExpressionError(f"expected {wanted}, found {found}", self._token.position)


def _unquoted(text: str) -> str:
    return _ESCAPE.sub(r"\1", text[1:-1])


def _number(text: str) -> int | float:
    return float(text) if "." in text else int(text)
