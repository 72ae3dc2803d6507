"""Cypher as tokens: enough to tell its text from its comments and strings, never to judge what it means.

What a statement does is judged by the database's own plan of it (domain/cypher_plan.py). What could make this reading
differ from the database's is refused here: escapes by code point, which Cypher resolves before it reads anything else,
quoted names, and characters beyond ASCII outside strings and comments.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from knotwork.errors import InvalidInput

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)
      | (?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
      | (?P<parameter>\$[A-Za-z_][A-Za-z0-9_]*)
      | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<number>[0-9][A-Za-z0-9_]*(?:\.[0-9][A-Za-z0-9_]*)?)
      | (?P<symbol>[-+*/%^=<>!.,:|&()\[\]{}~?])""",
    re.VERBOSE | re.DOTALL,
)
_STEERING = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]")
_CODE_POINT = re.compile(r"\\[uU]")


class Kind(StrEnum):
    STRING = "string"
    PARAMETER = "parameter"
    NAME = "name"
    NUMBER = "number"
    SYMBOL = "symbol"


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a statement; `start` counts characters of its text."""

    kind: Kind
    text: str
    start: int

    @property
    def word(self) -> str:
        """A name in capitals, as keywords are compared; '' for anything else."""
        return self.text.upper() if self.kind is Kind.NAME else ""


def tokens_of(text: str) -> list[Token]:
    """The tokens of one statement, without comments.

    Raises:
        InvalidInput: it holds what is not read here, several statements among it; the message says which and where.
    """
    if found := _STEERING.search(text):
        raise InvalidInput(f"a control character stands in line {_line(text, found.start())}; remove it")
    if found := _CODE_POINT.search(text):
        raise InvalidInput(
            f"an escape by code point (\\u) stands in line {_line(text, found.start())}; write the character itself"
        )
    tokens: list[Token] = []
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise InvalidInput(f"{_what(text[at])} in line {_line(text, at)}")
        if found.lastgroup != "space":
            tokens.append(Token(Kind(str(found.lastgroup)), found[0], at))
        at = found.end()
    return tokens


def _what(char: str) -> str:
    return {
        "`": "a name in backticks; use plain names",
        ";": "a semicolon; a file holds one statement, without one",
        "'": "a string without an end",
        '"': "a string without an end",
        "$": "a parameter without a plain name",
    }.get(char, f"{char!r} outside a string")


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
