"""A traversal is a file: one reading statement under a header that declares its question, parameters and result.

    // Name:        dependants
    // Question:    What depends, directly or not, on an entity?
    // Parameter:   $entity ENTITY: an id, or a name that only one entity has.
    // Parameter:   $depth INTEGER 1..8 = 3: steps, at most.
    // Parameter:   $types LIST<STRING> = []: types of relationship that count; none given: all.
    // Column:      id STRING: the entity that depends.
    // Scope:       tenant
    MATCH ...

A bound of a STRING or a LIST is one of its length. The value after `=` is JSON; without one the parameter must be
given. Three more are always there: $tenant, $audiences (the keys of the audiences that the reader belongs to) and
$limit, the most rows that are returned.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import accumulate
from typing import Any, cast

from knotwork.domain.cypher_tokens import Kind, Token, tokens_of
from knotwork.domain.filters import INTEGERS
from knotwork.domain.normalise import clean_text
from knotwork.errors import InvalidInput

MAX_FILE_BYTES = 64 * 1024
MAX_NESTING = 100  # of brackets: planning 3,000 took Neo4j more than two minutes, past its own time limit
MAX_TEXT = 1000  # characters of a STRING, items of a LIST<STRING>, unless the header says less
GIVEN = frozenset({"tenant", "audiences", "limit"})
NAMESPACES = frozenset(  # of Cypher's own functions; those of plug-ins may run any statement
    {"date", "time", "datetime", "localtime", "localdatetime", "duration", "point", "vector"}
)
BEGINNINGS = frozenset({"MATCH", "OPTIONAL", "UNWIND", "WITH", "CALL", "RETURN"})

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_FIELD = re.compile(r"// ?(?P<field>[A-Z][a-z]+): +(?P<text>\S.*)")
_PARAMETER = re.compile(
    r"\$(?P<name>[a-z][a-z0-9_]*) (?P<type>[A-Z]+(?:<STRING>)?)(?: (?P<least>-?[0-9.]+?)\.\.(?P<most>-?[0-9.]+))?"
    r"(?: = (?P<default>.+?))?: (?P<meaning>\S.*)"
)
_COLUMN = re.compile(r"(?P<name>[a-z][a-z0-9_]*) (?P<type>[A-Z]+(?:<[A-Z]+>)?): (?P<meaning>\S.*)")
_TRUTHS = {"true": True, "false": False}


class ParameterType(StrEnum):
    STRING = "STRING"
    INTEGER = "INTEGER"
    FLOAT = "FLOAT"
    BOOLEAN = "BOOLEAN"
    STRINGS = "LIST<STRING>"
    ENTITY = "ENTITY"  # a string: an entity's id, or a name that is looked up


class TraversalScope(StrEnum):
    TENANT = "tenant"
    OPERATOR = "operator"  # reads more than one tenant, so it is for whoever runs the platform


@dataclass(frozen=True, slots=True)
class Parameter:
    """A declared parameter. `default` None: it must be given."""

    name: str
    type: ParameterType
    meaning: str
    default: object = None
    least: float | None = None
    most: float | None = None

    def checked(self, value: object) -> object:
        """The value as the statement gets it; text stands for a number or a truth, as on a command line.

        Raises:
            InvalidInput: it is of another type, or out of bounds.
        """
        read = self._read(value)
        if read is None:
            raise InvalidInput(f"parameter {self.name!r} must be {self.expected}")
        measure = float(read) if isinstance(read, int | float) else float(len(cast("Sequence[object]", read)))
        if (self.least is not None and measure < self.least) or measure > self._most:
            raise InvalidInput(f"parameter {self.name!r} must be {self.expected}")
        return read

    @property
    def expected(self) -> str:
        """Its type and bounds, in words."""
        what = {
            ParameterType.STRING: "text",
            ParameterType.INTEGER: "a whole number",
            ParameterType.FLOAT: "a number",
            ParameterType.BOOLEAN: "true or false",
            ParameterType.STRINGS: "a list of texts",
            ParameterType.ENTITY: "an entity's id or name",
        }[self.type]
        if self.type is ParameterType.BOOLEAN:
            return what
        unit = {ParameterType.STRINGS: " long", ParameterType.STRING: " characters long"}.get(self.type, "")
        least = "" if self.least is None else f"{self.least:g} to "
        most = "" if math.isinf(self._most) else f"{self._most:g}"
        return f"{what}, {least or 'at most '}{most}{unit}" if most else what

    @property
    def _most(self) -> float:
        if self.most is not None:
            return self.most
        return math.inf if self.type in {ParameterType.INTEGER, ParameterType.FLOAT} else MAX_TEXT

    def _read(self, value: object) -> Any:
        match self.type:
            case ParameterType.STRING | ParameterType.ENTITY:
                return clean_text(value) if isinstance(value, str) else None
            case ParameterType.STRINGS:
                return _texts([value] if isinstance(value, str) else value)
            case ParameterType.BOOLEAN:
                return _TRUTHS.get(value) if isinstance(value, str) else value if isinstance(value, bool) else None
            case ParameterType.INTEGER:
                if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,19}", value):
                    value = int(value)
                return value if isinstance(value, int) and not isinstance(value, bool) and value in INTEGERS else None
            case ParameterType.FLOAT:
                number = _number(value)
                return number if number is not None and math.isfinite(number) else None


def _texts(value: object) -> list[str] | None:
    """A list of texts that are not too long, cleaned; None: it is none."""
    if not isinstance(value, list):
        return None
    items = [item for item in cast("list[object]", value) if isinstance(item, str) and len(item) <= MAX_TEXT]
    return [clean_text(item) for item in items] if len(items) == len(cast("list[object]", value)) else None


@dataclass(frozen=True, slots=True)
class Column:
    """A declared column of the result."""

    name: str
    type: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Traversal:
    """A file that was read; whether it may run, its plan tells."""

    name: str
    question: str
    scope: TraversalScope
    parameters: tuple[Parameter, ...]
    columns: tuple[Column, ...]
    statement: str = field(repr=False)  # the whole file: comments are Cypher too

    @property
    def uses_audiences(self) -> bool:
        """Whether it says which evidence a reader may see."""
        return any(token.text == "$audiences" for token in tokens_of(self.statement))

    def values(self, given: Mapping[str, object]) -> dict[str, object]:
        """The parameters to run it with.

        Raises:
            InvalidInput: one is unknown, missing, of another type or out of bounds.
        """
        known = {parameter.name: parameter for parameter in self.parameters}
        if unknown := sorted(given.keys() - known.keys()):
            has = ", ".join(known) or "none"
            raise InvalidInput(f"{self.name} has no parameter {clean_text(unknown[0])[:100]!r}; it has {has}")
        values: dict[str, object] = {}
        for name, parameter in known.items():
            if name in given:
                values[name] = parameter.checked(given[name])
            elif parameter.default is None:
                raise InvalidInput(f"parameter {name!r} is missing: {parameter.expected}")
            else:
                values[name] = parameter.default
        return values


def read_traversal(name: str, text: str) -> Traversal:
    """What a file declares.

    Raises:
        InvalidInput: its name or header is not as it must be, or its statement holds what none may; the message is the
            reason why it is refused.
    """
    if not _NAME.fullmatch(name):
        raise InvalidInput("its name must be lower-case letters, digits and single hyphens, and .cypher")
    if len(text.encode("utf-8", "surrogatepass")) > MAX_FILE_BYTES:
        raise InvalidInput(f"it is larger than {MAX_FILE_BYTES // 1024} KB")
    fields = _header(text)
    if [value for field_, value in fields if field_ == "Name"] != [name]:
        raise InvalidInput(f"its header lacks `// Name: {name}`, the name of its file")
    questions = [value for field_, value in fields if field_ == "Question"]
    if len(questions) != 1:
        raise InvalidInput("its header lacks `// Question: ...`; it needs one question and one Column or more")
    columns = tuple(_column(value) for field_, value in fields if field_ == "Column")
    if not columns:
        raise InvalidInput("its header lacks `// Column: name TYPE: meaning`; declare each column of the result")
    parameters = tuple(_parameter(value) for field_, value in fields if field_ == "Parameter")
    if len({one.name for one in parameters}) < len(parameters) or len({one.name for one in columns}) < len(columns):
        raise InvalidInput("its header declares a parameter or a column twice")
    _check_statement(text, parameters)
    return Traversal(name, questions[0], _scope(fields), parameters, columns, text)


def _header(text: str) -> list[tuple[str, str]]:
    """Fields with their texts; a line of a comment without a field goes on with the one before."""
    fields: list[tuple[str, str]] = []
    for line in text.splitlines():
        if not line.startswith("//"):
            break
        if found := _FIELD.fullmatch(line.rstrip()):
            fields.append((found["field"], found["text"]))
        elif fields:
            last, said = fields[-1]
            fields[-1] = (last, f"{said} {line.removeprefix('//').strip()}".rstrip())
    return fields


def _scope(fields: Sequence[tuple[str, str]]) -> TraversalScope:
    said = [value for field_, value in fields if field_ == "Scope"] or [TraversalScope.TENANT.value]
    if len(said) != 1 or said[0] not in set(TraversalScope):
        raise InvalidInput("its header's Scope must be tenant or operator")
    return TraversalScope(said[0])


def _column(text: str) -> Column:
    found = _COLUMN.fullmatch(text)
    if found is None:
        raise InvalidInput(f"its header's column {text[:80]!r} is not `name TYPE: meaning`")
    return Column(found["name"], found["type"], found["meaning"])


def _parameter(text: str) -> Parameter:
    found = _PARAMETER.fullmatch(text)
    if found is None or found["type"] not in set(ParameterType):
        types = ", ".join(ParameterType)
        raise InvalidInput(
            f"its header's parameter {text[:80]!r} is not `$name TYPE least..most = default: meaning`, of {types}"
        )
    if found["name"] in GIVEN:
        raise InvalidInput(f"its header declares ${found['name']}, which is always given")
    least, most = _bound(found["least"]), _bound(found["most"])
    if least is not None and most is not None and least > most:
        raise InvalidInput(f"the bounds of its parameter ${found['name']} are the wrong way round")
    bare = Parameter(found["name"], ParameterType(found["type"]), found["meaning"], None, least, most)
    if found["default"] is None:
        return bare
    try:
        default = bare.checked(json.loads(found["default"]))
    except ValueError as error:
        raise InvalidInput(f"the default of its parameter ${found['name']} is no JSON") from error
    return Parameter(bare.name, bare.type, bare.meaning, default, least, most)


def _bound(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return float(text)
    except ValueError as error:
        raise InvalidInput(f"{text!r} in its header is no bound") from error


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def _check_statement(text: str, parameters: Sequence[Parameter]) -> None:
    """What the plan does not show: how the statement begins, and what it is given."""
    tokens = tokens_of(text)
    if not tokens or tokens[0].word not in BEGINNINGS:
        raise InvalidInput(f"its statement must begin with one of {', '.join(sorted(BEGINNINGS))}")
    if _nesting(tokens) > MAX_NESTING:
        raise InvalidInput(f"its brackets are nested more than {MAX_NESTING} deep")
    declared = GIVEN | {parameter.name for parameter in parameters}
    used = {token.text[1:] for token in tokens if token.kind is Kind.PARAMETER}
    if unknown := sorted(used - declared):
        raise InvalidInput(f"it uses ${unknown[0]}, which its header does not declare")
    if unused := sorted(declared - GIVEN - used):
        raise InvalidInput(f"its header declares ${unused[0]}, which it does not use")
    if called := _function_of_a_plugin(tokens):
        raise InvalidInput(f"it calls {called}, which is no function of Cypher itself")
    # The plan is read by its words: no string may look like those that say what a read is anchored to.
    if any(token.kind is Kind.STRING and "tenant" in token.text.lower() for token in tokens):
        raise InvalidInput("one of its strings holds the word `tenant`; only $tenant says whose rows are read")


def _nesting(tokens: Sequence[Token]) -> int:
    """How deep brackets of whatever kind are nested."""
    steps = {**dict.fromkeys("([{", 1), **dict.fromkeys(")]}", -1)}
    return max(accumulate(steps.get(token.text, 0) for token in tokens), default=0)


def _function_of_a_plugin(tokens: Sequence[Token]) -> str | None:
    """A function called by a name with dots outside Cypher's own namespaces; procedures are the plan's to judge."""
    for at, token in enumerate(tokens):
        if token.text != "(":
            continue
        first = at - 1
        while first >= 2 and tokens[first - 1].text == "." and tokens[first].kind is Kind.NAME:  # noqa: PLR2004 - a pair
            first -= 2
        chain = tokens[first:at] if first >= 0 else []
        is_procedure = first >= 1 and tokens[first - 1].word == "CALL"
        if len(chain) > 1 and not is_procedure and chain[0].text.lower() not in NAMESPACES:
            return "".join(one.text for one in chain)
    return None
