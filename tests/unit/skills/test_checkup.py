"""Each problem planted and found, with the skills concerned and what to do."""

from __future__ import annotations

import re
import time
from itertools import pairwise
from typing import Any

import pytest

from knotwork.skills import Checkup, Level, ProblemCode, Skill, SkillContext, SkillGraphBuilder, skill_graph

A, B, C = Skill("a"), Skill("b"), Skill("c")


def when(last: Any) -> bool:
    return bool(last.result)


def found(builder: SkillGraphBuilder) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(problem.level, problem.code, problem.ids) for problem in builder.build(check="off").checkup().problems]


def test_a_sound_graph_has_no_problem() -> None:
    builder = (
        skill_graph()
        .entry(A)
        .route(A, B, on_tool_return="search")
        .route(A, C, on_tool_return="close")
        .route(B, A, when=when)
    )
    checkup = builder.build(check="throw").checkup()
    assert checkup == Checkup()
    assert checkup.ok


@pytest.mark.parametrize(
    ("builder", "problem"),
    [
        (skill_graph().entry(A).route(A, "x", on_tool_return="t"), ("error", "unknown-skill", ("x",))),
        (skill_graph().entry(A).entry("x").entry("x"), ("error", "unknown-skill", ("x",))),
        (skill_graph().entry(A).skill(B), ("warning", "unreachable-skill", ("b",))),
        (skill_graph().entry(A).route(B, A, on_tool_return="t"), ("warning", "unreachable-skill", ("b",))),
        (skill_graph().entry(A).route(A, A, on_tool_return="t"), ("warning", "self-loop", ("a",))),
        (
            skill_graph().entry(A).route(A, B, when=when).route(A, C, when=when),
            ("warning", "ambiguous-edges", ("a", "b", "c")),
        ),
        (
            skill_graph().entry(A).route(A, B, on_tool_return="t").route(A, C, on_tool_return="t", when=when),
            ("warning", "ambiguous-edges", ("a", "b", "c")),
        ),
        (
            skill_graph().entry(A).route(A, B, on_tool_return="t").route(A, C, on_tool_return=re.compile("u")),
            ("warning", "ambiguous-edges", ("a", "b", "c")),
        ),
    ],
)
def test_each_problem_is_found_alone_with_its_ids(builder: SkillGraphBuilder, problem: tuple[Any, ...]) -> None:
    assert found(builder) == [problem]


def test_without_an_entry_nothing_is_reached_either() -> None:
    assert found(skill_graph().route(A, B, on_tool_return="t")) == [
        ("error", "no-entry", ()),
        ("warning", "unreachable-skill", ("a",)),
        ("warning", "unreachable-skill", ("b",)),
    ]


@pytest.mark.parametrize(
    "builder",
    [
        skill_graph().entry(A).route(A, B, on_tool_return="t").route(A, C, on_tool_return="u"),
        skill_graph().entry(A).route(A, B, when=when, priority=1).route(A, C, when=when, priority=2),
        skill_graph().entry(A).route(A, B, when=when, priority=1).route(A, C, when=when),
        skill_graph().entry(A).route(A, B, when=when).route(B, C, when=when),
    ],
)
def test_edges_that_are_told_apart_are_not_ambiguous(builder: SkillGraphBuilder) -> None:
    assert found(builder) == []


def test_only_the_edges_that_clash_are_named() -> None:
    builder = (
        skill_graph()
        .entry(A)
        .route(A, Skill("clear"), on_tool_return="u")
        .route(A, B, on_tool_return="t")
        .route(A, C, on_tool_return="t")
    )
    assert found(builder) == [("warning", "ambiguous-edges", ("a", "b", "c"))]


def test_every_code_says_what_to_do() -> None:
    builder = skill_graph().skill(A).route(B, B, when=when).route(B, "x", when=when)
    problems = builder.build(check="off").checkup().problems
    assert {problem.code for problem in problems} == set(ProblemCode)
    assert [problem.level for problem in problems] == sorted((problem.level for problem in problems), key=str)
    for problem in problems:
        assert "; " in problem.message
        assert all(repr(skill_id) in problem.message for skill_id in problem.ids)
    assert [error.code for error in builder.build(check="off").checkup().errors] == ["unknown-skill", "no-entry"]
    assert Level.ERROR < Level.WARNING


def test_five_thousand_skills_are_checked_in_a_blink() -> None:
    skills = [Skill(f"s{number}") for number in range(5000)]
    builder = skill_graph().entry(skills[0])
    for before, after in pairwise(skills):
        builder.route(before, after, on_tool_return="t").route(after, skills[0], on_tool_return="u")
        builder.route(skills[0], after, when=when)
    started = time.process_time()
    graph = builder.build(check="off")
    cpu_s = time.process_time() - started
    assert {problem.code for problem in graph.checkup().problems} == {"ambiguous-edges"}
    assert cpu_s < 2, "compiling and checking is linear; quadratic work would take minutes here"
    assert graph.next_skill(SkillContext(current_skill_id="s4999")) == "s4999"
