"""YAML or JSON as located values: each knows its line and column, so that an error can name them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from knotwork.skills.errors import InvalidDeclaration

MAX_CHARACTERS = 1_000_000
MAX_DEPTH = 200  # of lists and mappings; far below what would exhaust the interpreter's stack

# libyaml where the wheel has it: the same values some fifty times faster
_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG = "tag:yaml.org,2002:"
_WORDS = frozenset({"yes", "no", "on", "off"})  # truth values in YAML 1.1 only; here they are text (`check: off`)
_ESCAPE_LENGTHS = {"x": 4, "u": 6, "U": 10}
_NO_TEXT = re.compile("[\ud800-\udfff\0]")
_EXPONENT = re.compile(r"-?\d+(\.\d+)?[eE][+-]?\d+")
_SURROGATES = re.compile(r"(?<!\\)((?:\\\\)*)\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})", re.IGNORECASE)


def read_document(text: str) -> Located:
    """Read one YAML document; JSON is YAML.

    Raises:
        InvalidDeclaration: a syntax error, an alias (a few of them expand without bound), too long or too deep.
    """
    text = text.removeprefix("\ufeff")
    if len(text) > MAX_CHARACTERS:
        raise InvalidDeclaration(f"more than {MAX_CHARACTERS} characters; split the graph", line=1, column=1)
    if text.lstrip().startswith("{"):
        text = _json_as_yaml(text)
    try:
        _refuse_unbounded(text)
        node = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (1, 1) if mark is None else (mark.line + 1, mark.column + 1)
        raise InvalidDeclaration(f"not YAML or JSON ({error.problem})", line=line, column=column) from None
    except yaml.YAMLError as error:
        raise InvalidDeclaration(f"not YAML or JSON ({error})", line=1, column=1) from None
    if node is None:
        raise InvalidDeclaration("the document is empty; it needs `skills` and `start`", line=1, column=1)
    return Located(node, text)


def _json_as_yaml(text: str) -> str:
    """What YAML would refuse of JSON: tabs as white space, and characters escaped as a pair of surrogates."""
    return _SURROGATES.sub(_joined, text.replace("\t", " "))  # a string of JSON holds no bare tab


def _joined(pair: re.Match[str]) -> str:
    high, low = int(pair[2], 16), int(pair[3], 16)
    return f"{pair[1]}\\U{0x10000 + (high - 0xD800) * 0x400 + (low - 0xDC00):08x}"


def _refuse_unbounded(text: str) -> None:
    """Looked for in the stream of events, before anything is nested or expanded."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        line, column = event.start_mark.line + 1, event.start_mark.column + 1
        if isinstance(event, yaml.AliasEvent):
            raise InvalidDeclaration("aliases are not read; write the value out", line=line, column=column)
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise InvalidDeclaration(f"nested deeper than {MAX_DEPTH}", line=line, column=column)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


@dataclass(frozen=True, slots=True)
class Located:
    """A value of a document. Each reader below raises InvalidDeclaration, with the value's place, on another type."""

    node: yaml.Node
    source: str

    @property
    def is_mapping(self) -> bool:
        return isinstance(self.node, yaml.MappingNode)

    @property
    def is_text(self) -> bool:
        return isinstance(self.node, yaml.ScalarNode) and (self._is("str") or self.node.value.lower() in _WORDS)

    def text(self) -> str:
        if not self.is_text:
            raise self.error(f"expected a text, found {self._kind()}; put it in quotes if it is one")
        if _NO_TEXT.search(self.node.value):
            raise self.error("half a character (a lone surrogate) or a NUL, which no store takes; remove the escape")
        return self.node.value

    def integer(self) -> int:
        if not self._is("int"):
            raise self.error(f"expected a whole number, found {self._kind()}")
        return int(self._constructed())

    def number(self) -> float:
        if not self._is_number:
            raise self.error(f"expected a number, found {self._kind()}")
        return float(self._constructed())

    @property
    def _is_number(self) -> bool:
        """YAML 1.1 takes `1e5` for a text; JSON does not."""
        exponent = isinstance(self.node, yaml.ScalarNode) and not self.node.style
        return self._is("int") or self._is("float") or (exponent and bool(_EXPONENT.fullmatch(self.node.value)))

    def boolean(self) -> bool:
        if not self._is("bool"):
            raise self.error(f"expected true or false, found {self._kind()}")
        return bool(self._constructed())

    def items(self) -> list[Located]:
        if not isinstance(self.node, yaml.SequenceNode):
            raise self.error(f"expected a list, found {self._kind()}")
        return [Located(node, self.source) for node in self.node.value]

    def fields(self, allowed: frozenset[str], *, needs: frozenset[str] = frozenset()) -> dict[str, Located]:
        """The entries of a mapping; an unknown, repeated or missing key is refused."""
        found: dict[str, Located] = {}
        for key, value in self._pairs():
            name = key.text()
            if name not in allowed:
                raise key.error(f"unknown key {name!r}; use {', '.join(sorted(allowed))}")
            if name in found:
                raise key.error(f"the key {name!r} stands here twice")
            found[name] = value
        for name in sorted(needs - found.keys()):
            raise self.error(f"the key {name!r} is missing")
        return found

    def data(self) -> object:
        """Any JSON value, for metadata. Dates and other types of YAML are left as the text that was written."""
        if isinstance(self.node, yaml.MappingNode):
            return {key.text(): value.data() for key, value in self._pairs()}
        if isinstance(self.node, yaml.SequenceNode):
            return [item.data() for item in self.items()]
        if self._is("null"):
            return None
        if self._is_number or (self._is("bool") and not self.is_text):
            return self._constructed()
        return self.node.value

    def error(self, reason: str, offset: int = 0) -> InvalidDeclaration:
        """An error at this value, or at the character `offset` of its text."""
        line, column = self._place(offset)
        return InvalidDeclaration(reason, line=line, column=column)

    def _pairs(self) -> Iterator[tuple[Located, Located]]:
        if not isinstance(self.node, yaml.MappingNode):
            raise self.error(f"expected a mapping, found {self._kind()}")
        for key, value in self.node.value:
            yield Located(key, self.source), Located(value, self.source)

    def _is(self, kind: str) -> bool:
        return isinstance(self.node, yaml.ScalarNode) and self.node.tag == _TAG + kind

    def _kind(self) -> str:
        if isinstance(self.node, yaml.ScalarNode):
            return f"{self.node.value!r} ({self.node.tag.removeprefix(_TAG)})"
        return "a mapping" if self.is_mapping else "a list"

    def _constructed(self) -> Any:
        if self._is("str"):
            return float(self.node.value)
        try:
            return yaml.constructor.SafeConstructor().construct_object(self.node)
        except ValueError as error:
            raise self.error(f"{self.node.value!r} cannot be read ({error})") from None

    def _place(self, offset: int) -> tuple[int, int]:
        """Line and column, from 1, of a character of the text; of its start, where lines were folded."""
        start = self.node.start_mark
        raw = self.source[start.index : self.node.end_mark.index]
        style = getattr(self.node, "style", None)
        if style == "|":
            body = raw.split("\n")[1:]
            before = self.node.value[:offset].split("\n")
            indent = next((len(line) - len(line.lstrip()) for line in body if line.strip()), 0)
            return start.line + 1 + len(before), indent + len(before[-1]) + 1
        if "\n" in raw or style == ">" or not offset:
            return start.line + 1, start.column + 1
        return start.line + 1, start.column + 1 + _raw_offset(raw, style, offset)


def _raw_offset(raw: str, style: str | None, offset: int) -> int:
    """Where the character `offset` of a text stands in its written form of one line."""
    if style not in {'"', "'"}:
        return offset
    place = 1
    for _ in range(offset):
        if style == '"' and raw[place] == "\\":
            place += _ESCAPE_LENGTHS.get(raw[place + 1], 2)
        else:
            place += 2 if style == "'" and raw[place] == "'" else 1
    return place
