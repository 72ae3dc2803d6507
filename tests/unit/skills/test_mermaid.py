"""What is declared is drawn, and nothing else: the drawing is parsed back and compared."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knotwork.skills import EdgeKind, Skill, SkillGraph, decide_skill, skill_graph
from knotwork.skills.mermaid import quoted
from unit.skills.skill_graphs import PlainGraph, plain_graphs

NODE = re.compile(r'  (n\d+)([\[{])"([^"]*)"[\]}]')
EDGE = re.compile(r'  (start|n\d+) (-->|-\.->)(?:\|"([^"]*)"\|)? (n\d+)')


def unquoted(label: str) -> str:
    return re.sub(r"#(\d+);", lambda code: chr(int(code[1])), label.replace("<br/>", "\n"))


def parsed(drawing: str) -> tuple[list[tuple[str, str]], list[tuple[Any, ...]]]:
    """Nodes as (kind, label), edges as (from label, to label, dashed, label); every line must be one of these."""
    head, *lines = drawing.splitlines()
    assert head == "flowchart TD"
    nodes: dict[str, tuple[str, str]] = {}
    edges: list[tuple[Any, ...]] = []
    for line in lines:
        if node := NODE.fullmatch(line):
            nodes[node[1]] = ("predicate" if node[2] == "{" else "skill", unquoted(node[3]))
        elif edge := EDGE.fullmatch(line):
            ends = [None if end == "start" else nodes[end] for end in (edge[1], edge[4])]
            edges.append((*ends, edge[2] == "-.->", unquoted(edge[3]) if edge[3] is not None else None))
        else:
            assert line == '  start(["start"])'
    return list(nodes.values()), edges


def declared(graph: SkillGraph) -> tuple[list[tuple[str, str]], list[tuple[Any, ...]]]:
    nodes = {node.id: (node.kind, node.label or " ") for node in graph.nodes}
    edges = [
        (
            None if edge.from_id is None else nodes[edge.from_id],
            nodes[edge.to_id],
            edge.kind is EdgeKind.MODEL,
            edge.label,
        )
        for edge in graph.edges
    ]
    return list(nodes.values()), edges


@given(plain_graphs(odd_ids=True))
@settings(max_examples=50, deadline=None)
def test_a_flat_graph_is_drawn_as_declared(plain: PlainGraph) -> None:
    graph = plain.as_builder()
    assert parsed(graph.to_mermaid()) == declared(graph)


LEAVES = st.sampled_from([Skill("a"), Skill("größe"), Skill("c]")])


@given(
    st.recursive(
        LEAVES,
        lambda inner: st.builds(decide_skill, st.just(bool), inner, inner, st.text(max_size=6)),
        max_leaves=8,
    )
)
def test_a_tree_is_drawn_as_declared(tree: Any) -> None:
    graph = skill_graph().skill(Skill("aside")).tree(tree).build(check="off")
    assert parsed(graph.to_mermaid()) == declared(graph)


@given(st.text())
def test_a_label_comes_back_as_it_went_in(label: str) -> None:
    assert unquoted(quoted(label)[1:-1]) == (label or " ")  # Mermaid takes no empty string
    assert quoted(label).count('"') == 2
    assert "\n" not in quoted(label)


@pytest.mark.parametrize("label", ["苹果", "Москва", "हिन्दी", "القاهرة", "😀", "Straße"])
def test_letters_of_any_script_stay_readable(label: str) -> None:
    assert quoted(label) == f'"{label}"'


@pytest.mark.parametrize("syntax", [*'"[](){}<>|`#;&%\\*_~-.:=@$^/+', "\r", "\u2028", "\u200b"])
def test_what_could_be_syntax_is_written_as_a_code_point(syntax: str) -> None:
    assert quoted(syntax) == f'"#{ord(syntax)};"'


def test_the_start_is_drawn_only_where_an_edge_leaves_it() -> None:
    loop = skill_graph().route(Skill("a"), Skill("b"), on_tool_return="t").route("b", "a", on_tool_return="t")
    assert "start" not in loop.build(check="off").to_mermaid()
