"""A Mermaid flowchart of a compiled graph: each node and edge of it, and nothing else."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

from knotwork.skills.model import EdgeKind, SkillEdge, SkillNode

START = "start"

# ASCII that means nothing to Mermaid's grammar, to HTML or to Markdown, wherever it stands in a quoted label.
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 ,?!'")


def draw(nodes: Sequence[SkillNode], edges: Sequence[SkillEdge]) -> str:
    """The flowchart: skills as boxes, predicates as diamonds, edges of kind `model` dashed.

    Nodes are named n0, n1 ... in their order, so that no id of a user's meets Mermaid's grammar.
    """
    return "\n".join(_lines(nodes, edges)) + "\n"


def _lines(nodes: Sequence[SkillNode], edges: Sequence[SkillEdge]) -> Iterator[str]:
    names: dict[str | None, str] = {node.id: f"n{place}" for place, node in enumerate(nodes)}
    names[None] = START
    yield "flowchart TD"
    if any(edge.from_id is None for edge in edges):
        yield f'  {START}(["start"])'
    for node in nodes:
        label = quoted(node.label)
        yield f"  {names[node.id]}{{{label}}}" if node.kind == "predicate" else f"  {names[node.id]}[{label}]"
    for edge in edges:
        arrow = "-.->" if edge.kind is EdgeKind.MODEL else "-->"
        label = f"|{quoted(edge.label)}|" if edge.label else ""
        yield f"  {names[edge.from_id]} {arrow}{label} {names[edge.to_id]}"


def quoted(label: str) -> str:
    """A label as a quoted Mermaid string: a newline is a line break, what could be read as syntax is a code point.

    An empty one is a space, since Mermaid takes no empty string.
    """
    return f'"{"".join(map(_escaped, label or " "))}"'


def _escaped(character: str) -> str:
    if character == "\n":
        return "<br/>"
    if character in _PLAIN:
        return character
    # Beyond ASCII only what draws nothing is a danger: controls, format characters, surrogates, line separators.
    if character > "\x7f" and unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp"}:
        return character
    return f"#{ord(character)};"
