"""Decision trees: one leaf for each context, whatever the tests answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork.skills import (
    ActivationKind,
    Decision,
    InvalidSkillGraph,
    PredicateFailed,
    Skill,
    SkillContext,
    decide_skill,
    graph_from_config,
    skill_graph,
)

A, B, C = Skill("a", tools=("ta",)), Skill("b", tools=("tb",)), Skill("c", tools=("tc",))
SKILLS = (A, B, C)
Condition = Callable[[SkillContext], bool]


def bit(place: int) -> Condition:
    return lambda ctx: bool(ctx.metadata["bits"] >> place & 1)


BITS = tuple(bit(place) for place in range(4))
TREES = st.recursive(
    st.sampled_from(SKILLS),
    lambda inner: st.builds(decide_skill, st.sampled_from(BITS), inner, inner, st.sampled_from(["p", "q?"])),
    max_leaves=12,
)


def conjunctions(node: Any, path: tuple[tuple[Condition, bool], ...] = ()) -> Iterator[tuple[str, Any]]:
    """Each leaf with the tests on its path and the answers that lead there, as the spec defines its condition."""
    if isinstance(node, Decision):
        yield from conjunctions(node.when_true, (*path, (node.predicate, True)))
        yield from conjunctions(node.when_false, (*path, (node.predicate, False)))
    else:
        yield node.id, path


@given(TREES, st.integers(0, 15))
def test_exactly_the_leaf_whose_path_holds_is_active(tree: Any, bits: int) -> None:
    graph = skill_graph().skill(*SKILLS).tree(tree).build(check="off")
    ctx = SkillContext(metadata={"bits": bits})
    holding = [
        skill_id for skill_id, path in conjunctions(tree) if all(predicate(ctx) is answer for predicate, answer in path)
    ]
    assert len(holding) == 1, "leaves are exclusive and exhaustive"
    assert graph.active_skills(ctx) == tuple(holding)
    assert [skill.id for skill in SKILLS if graph.is_active(skill.id, ctx)] == holding


@given(TREES, st.booleans())
def test_both_forms_compile_a_tree_to_the_same_graph(tree: Any, scope_tools: bool) -> None:
    fluent = skill_graph().tree(tree, scope_tools=scope_tools).skill(*SKILLS).build(check="off")
    configured = graph_from_config({"skills": SKILLS, "tree": tree, "scope_tools": scope_tools})
    assert fluent == configured
    assert fluent.to_mermaid() == configured.to_mermaid()


@given(TREES)
def test_the_drawn_tree_has_an_edge_for_each_arrival(tree: Any) -> None:
    graph = graph_from_config({"skills": SKILLS, "tree": tree})
    leaves = list(conjunctions(tree))
    predicates = [node for node in graph.nodes if node.kind == "predicate"]
    drawn = [edge for edge in graph.edges if edge.kind != "model"]
    assert len(predicates) == len(leaves) - 1
    assert len(drawn) == len(predicates) + len(leaves)
    assert [edge.kind for edge in drawn if edge.from_id is None] == ["entry"]
    for node in predicates:
        assert [edge.label for edge in drawn if edge.from_id == node.id] in (["yes", "no"], ["no", "yes"])


def test_a_skill_on_two_leaves_is_one_skill_with_both_paths() -> None:
    tree = decide_skill(BITS[0], A, decide_skill(BITS[1], B, A, "second?"), "first?")
    graph = skill_graph().tree(tree).build(check="throw")
    provenance: Any = graph.skill("a").metadata["skill_graph"]
    yes, no_no = (
        ({"label": "first?", "branch": "yes"},),
        ({"label": "first?", "branch": "no"}, {"label": "second?", "branch": "no"}),
    )
    assert [skill.id for skill in graph.skills] == ["a", "b"]
    assert provenance == {"via": "tree", "trigger_kind": "tree", "path": yes, "paths": (yes, no_no)}
    assert "paths" not in graph.skill("b").metadata["skill_graph"]  # type: ignore[operator]  # a mapping, as above
    for bits, leaf in [(0b01, "a"), (0b00, "a"), (0b10, "b")]:
        assert graph.active_skills(SkillContext(metadata={"bits": bits})) == (leaf,)


def test_leaves_are_scoped_unless_the_skill_or_the_tree_says_otherwise() -> None:
    own = Skill("own", tools=("to",), auto_activate="always")
    tree = decide_skill(BITS[0], A, decide_skill(BITS[1], B, own))
    scoped, unscoped = skill_graph().tree(tree).build(), skill_graph().tree(tree, scope_tools=False).build()
    assert [skill.auto_activate for skill in scoped.skills] == ["current_skill", "current_skill", "always"]
    assert [skill.auto_activate for skill in unscoped.skills] == [None, None, "always"]
    on_a = SkillContext(metadata={"bits": 1})
    assert scoped.active_tools(on_a) == ("ta", "to")
    assert unscoped.active_tools(on_a) == ("ta", "tb", "to")


def test_a_tree_has_no_cursor_and_all_its_leaves_are_reachable() -> None:
    graph = skill_graph().tree(decide_skill(BITS[0], A, decide_skill(BITS[1], B, A))).build()
    for current in (None, "a", "elsewhere"):
        ctx = SkillContext(current_skill_id=current, metadata={"bits": 0})
        assert graph.next_skill(ctx) == current
        assert graph.reachable_skills(current) == ("a", "b")
    assert graph.entry_choice is None


def test_a_skill_beside_the_tree_is_loaded_on_request_only() -> None:
    graph = skill_graph().skill(C).tree(decide_skill(BITS[0], A, B)).build(check="off")
    assert graph.activation("c").kind is ActivationKind.MODEL
    assert graph.skill("c").auto_activate is None
    assert [(problem.code, problem.ids) for problem in graph.checkup().problems] == [("unreachable-skill", ("c",))]
    assert "-.->" in graph.to_mermaid()


def test_a_leaf_by_id_must_be_among_the_skills() -> None:
    tree = decide_skill(BITS[0], "a", "lost")
    with pytest.raises(InvalidSkillGraph, match="unknown-skill: 'lost'"):
        graph_from_config({"skills": [A], "tree": tree})
    graph = graph_from_config({"skills": [A], "tree": tree, "check": "off"})
    assert graph.active_skills(SkillContext(metadata={"bits": 0})) == ()


def test_each_test_is_asked_at_most_once_for_a_context() -> None:
    answers = iter([True, False])
    flaky = decide_skill(lambda _: next(answers), A, B)
    graph = skill_graph().tree(flaky).build()
    assert graph.active_skills(SkillContext()) == ("a",)
    assert graph.active_skills(SkillContext()) == ("b",)


def test_a_test_that_raises_is_named() -> None:
    graph = skill_graph().tree(decide_skill(lambda ctx: ctx.metadata["absent"], A, B, "urgent?")).build()
    with pytest.raises(PredicateFailed, match=r"decision 'urgent\?'"):
        graph.active_skills(SkillContext())


def test_a_predicate_node_never_takes_the_id_of_a_skill() -> None:
    leaf = Skill("decision-0")
    graph = skill_graph().tree(decide_skill(BITS[0], leaf, A)).build()
    assert [node.id for node in graph.nodes] == ["decision-1", "decision-0", "a"]


def test_a_tree_of_two_thousand_tests_in_a_row_compiles_and_routes() -> None:
    tree: Any = A
    for _ in range(2000):
        tree = decide_skill(BITS[0], B, tree)
    graph = skill_graph().tree(tree).build()
    assert graph.active_skills(SkillContext(metadata={"bits": 0})) == ("a",)
    assert graph == skill_graph().tree(tree).build()
