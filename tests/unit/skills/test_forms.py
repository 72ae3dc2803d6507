"""Both forms compile to one graph, and each refuses what it cannot mean."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knotwork.errors import InvalidInput
from knotwork.skills import (
    EdgeKind,
    EntryChoice,
    GraphConfig,
    InvalidSkillGraph,
    JumpRefused,
    KeywordScorer,
    PredicateFailed,
    Skill,
    SkillContext,
    SkillEdge,
    SkillGraphWarning,
    ToolResult,
    UnknownSkill,
    decide_skill,
    graph_from_config,
    skill_graph,
)
from unit.skills.skill_graphs import SCORER, PlainGraph, plain_graphs, says

TRIAGE, SEARCH, REPORT = Skill("triage"), Skill("search"), Skill("report")


@given(plain_graphs(odd_ids=True), st.lists(st.integers(0, 2), max_size=20))
@settings(max_examples=60, deadline=None)
def test_both_forms_compile_to_the_same_graph(plain: PlainGraph, order: list[int]) -> None:
    fluent, configured = plain.as_builder(order), plain.as_config()
    assert fluent == configured
    assert fluent.edges == configured.edges
    assert fluent.to_mermaid() == configured.to_mermaid()
    assert fluent.checkup() == configured.checkup()


def test_the_order_in_which_skills_are_listed_makes_no_difference() -> None:
    fluent = skill_graph().entry(TRIAGE).route(TRIAGE, SEARCH, on_tool_return="page").build()
    configured = graph_from_config(
        {
            "skills": [SEARCH, TRIAGE],
            "start": "triage",
            "steps": [{"from": "triage", "to": "search", "on_tool_return": "page"}],
        }
    )
    assert fluent == configured
    assert [skill.id for skill in configured.skills] == ["triage", "search"]


def test_graphs_that_differ_in_one_condition_are_not_equal() -> None:
    assert skill_graph().entry(TRIAGE, when=says("a")).build() != skill_graph().entry(TRIAGE, when=says("b")).build()


@pytest.mark.parametrize(
    ("start", "choice"),
    [
        ("triage", EntryChoice.FIRST_MATCH),
        ({"use": "triage"}, EntryChoice.FIRST_MATCH),
        ({"rules": [{"use": "triage", "when": says("red")}]}, EntryChoice.FIRST_MATCH),
        ({"entries": ["triage"]}, EntryChoice.READ),
        ({"entries": [{"use": "triage"}], "scored_by": SCORER}, EntryChoice.SCORER),
        ({"entries": ["triage"], "scored_by": None, "by_relevance": None}, EntryChoice.READ),
    ],
)
def test_each_form_of_start_is_read(start: Any, choice: EntryChoice) -> None:
    graph = graph_from_config({"skills": [TRIAGE], "start": start})
    assert graph.entry_choice is choice
    assert graph.edges == (SkillEdge(None, "triage", EdgeKind.ENTRY),)


def test_scored_by_wins_over_by_relevance() -> None:
    class Unused:
        id = "unused"

    start: Any = {"entries": ["triage"], "scored_by": KeywordScorer(), "by_relevance": Unused()}
    assert graph_from_config({"skills": [TRIAGE], "start": start}).scorer == KeywordScorer()


def test_edges_say_kind_and_label() -> None:
    graph = (
        skill_graph()
        .entry(TRIAGE, label="any alert")
        .route(TRIAGE, SEARCH, on_tool_return="page")
        .route(SEARCH, REPORT, on_tool_return=re.compile("^se"), when=lambda last: bool(last.result), priority=1)
        .route(SEARCH, TRIAGE, when=lambda last: not last.result, label="nothing found", priority=2)
        .skill(Skill("aside"))
        .build(check="off")
    )
    assert [(edge.from_id, edge.to_id, edge.kind, edge.label) for edge in graph.edges] == [
        (None, "triage", "entry", "any alert"),
        ("triage", "search", "on-tool-return", "on page"),
        ("search", "report", "on-tool-return", "on /^se/, if"),
        ("search", "triage", "predicate", "nothing found"),
        (None, "aside", "model", None),
    ]


def test_provenance_says_how_each_skill_is_reached() -> None:
    graph = (
        skill_graph()
        .entry(TRIAGE, when=says("red"), label="an alert")
        .route(TRIAGE, SEARCH, on_tool_return="page")
        .skill(Skill("aside", metadata={"owner": "sre"}))
        .build(check="off")
    )
    assert {skill.id: skill.metadata["skill_graph"] for skill in graph.skills} == {
        "triage": {"via": "entry", "trigger_kind": "when", "label": "an alert"},
        "search": {"via": "route", "from": "triage", "trigger_kind": "on-tool-return", "label": "on page"},
        "aside": {"via": "model", "trigger_kind": "model"},
    }
    assert graph.skill("aside").metadata["owner"] == "sre"


def test_lower_priority_goes_first_and_a_route_without_one_last() -> None:
    graph = (
        skill_graph()
        .entry(TRIAGE)
        .route(TRIAGE, Skill("last"), on_tool_return="t")
        .route(TRIAGE, Skill("second"), on_tool_return="t", priority=5)
        .route(TRIAGE, Skill("first"), on_tool_return="t", when=lambda last: last.result == "yes", priority=-1)
        .build(check="off")
    )
    here = SkillContext(current_skill_id="triage")
    assert graph.next_skill(here.next("triage", ToolResult("t", "yes"))) == "first"
    assert graph.next_skill(here.next("triage", ToolResult("t", "no"))) == "second"
    assert graph.reachable_skills("triage") == ("last", "second", "first")


def test_a_string_is_an_exact_tool_name_and_a_pattern_is_searched() -> None:
    def graph_on(tool: Any) -> Any:
        return skill_graph().entry(TRIAGE).route(TRIAGE, SEARCH, on_tool_return=tool).build()

    at = SkillContext(current_skill_id="triage", last_tool_result=ToolResult("search_all"))
    assert graph_on("search").next_skill(at) == "triage"
    assert graph_on("search_all").next_skill(at) == "search"
    assert graph_on(re.compile("all")).next_skill(at) == "search"
    assert graph_on(re.compile("^all")).next_skill(at) == "triage"


def test_a_conditional_entry_stays_active_while_the_cursor_is_on_it() -> None:
    graph = skill_graph().entry(TRIAGE, when=says("red")).build()
    assert graph.active_skills(SkillContext("red")) == ("triage",)
    assert graph.active_skills(SkillContext("blue")) == ()
    assert graph.active_skills(SkillContext("blue", current_skill_id="triage")) == ("triage",)


def test_a_chosen_entry_starts_the_turn_and_nothing_else_does() -> None:
    graph = skill_graph().entry(TRIAGE).entry(SEARCH).entry_by_read().build()
    assert graph.next_skill(SkillContext()) is None
    assert graph.active_skills(SkillContext()) == ()
    assert graph.next_skill(SkillContext(chosen_entry_id="search")) == "search"
    with pytest.raises(JumpRefused, match="triage"):
        graph.next_skill(SkillContext(chosen_entry_id="report"))
    with pytest.raises(InvalidInput, match="first matching entry"):
        skill_graph().entry(TRIAGE).build().next_skill(SkillContext(chosen_entry_id="triage"))


def test_a_cursor_on_no_skill_of_the_graph_is_refused_by_name() -> None:
    graph = skill_graph().entry(TRIAGE).build()
    with pytest.raises(UnknownSkill, match="'triage'"):
        graph.next_skill(SkillContext(current_skill_id="gone"))
    with pytest.raises(UnknownSkill):
        graph.reachable_skills("gone")


def test_a_condition_that_raises_is_named_with_its_cause() -> None:
    graph = skill_graph().entry(TRIAGE, when=lambda ctx: ctx.metadata["absent"] == 1).build()
    with pytest.raises(PredicateFailed, match=r"entry 'triage' failed \(KeyError") as failed:
        graph.next_skill(SkillContext())
    assert isinstance(failed.value.__cause__, KeyError)


def test_a_graph_cannot_be_changed_once_built() -> None:
    builder = skill_graph().entry(TRIAGE)
    graph = builder.build()
    builder.route(TRIAGE, SEARCH, on_tool_return="page")
    assert graph.edges == (SkillEdge(None, "triage", EdgeKind.ENTRY),)
    with pytest.raises(TypeError):
        graph.skills[0].metadata["skill_graph"]["via"] = "route"  # type: ignore[index]  # what is tested
    with pytest.raises(AttributeError):
        graph.skills = ()  # type: ignore[misc]  # what is tested


TREE = decide_skill(says("red"), TRIAGE, SEARCH)


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda: skill_graph().route(TRIAGE, SEARCH), "no condition"),
        (lambda: skill_graph().entry(TRIAGE).entry(Skill("triage", "another")), "two different skills"),
        (lambda: Skill("  "), "not blank"),
        (lambda: skill_graph().entry_by(SCORER).entry_by_read(), "already chosen"),
        (lambda: skill_graph().entry_by_read().entry_by(SCORER), "already chosen"),
        (lambda: skill_graph().tree(TREE).tree(TREE), "already has a tree"),
        (lambda: skill_graph().tree(TREE).entry(TRIAGE).build(), "entry cannot stand beside it"),
        (lambda: skill_graph().tree(TREE).entry_by(SCORER).build(), "entry_by cannot"),
        (lambda: skill_graph().tree(TREE).entry_by_read().build(), "entry_by_read cannot"),
        (lambda: skill_graph().entry(TRIAGE).build(check="loud"), "check is 'loud'"),  # type: ignore[arg-type]  # tested
    ],
)
def test_the_builder_refuses_what_nothing_can_mend(declare: Any, message: str) -> None:
    with pytest.raises(InvalidSkillGraph, match=message):
        declare()


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"start": "triage"}, r"lacks \['skills'\]"),
        ({"skills": [TRIAGE], "begin": "triage"}, r"unknown keys \['begin'\]"),
        ({"skills": [TRIAGE], "start": {"first": "triage"}}, "start is an id"),
        ({"skills": [TRIAGE], "start": {"use": "triage", "rules": []}}, r"unknown keys \['rules'\]"),
        ({"skills": [TRIAGE], "start": {"rules": [{"when": says("red")}]}}, r"start.rules\[0\] lacks \['use'\]"),
        ({"skills": [TRIAGE], "start": "triage", "steps": [{"from": "triage"}]}, r"steps\[0\] lacks \['to'\]"),
        ({"skills": [TRIAGE], "steps": [{"from": "triage", "to": "triage"}]}, "no condition"),
        ({"skills": [TRIAGE], "start": "triage", "scope_tools": False}, "belongs to a tree"),
        ({"skills": [TRIAGE, SEARCH], "tree": TREE, "start": "triage"}, "start cannot stand"),
        ({"skills": [TRIAGE, SEARCH], "tree": TREE, "steps": []}, "steps cannot stand"),
        ({"skills": [TRIAGE]}, "no-entry"),
        ({"skills": [TRIAGE], "start": "search"}, "unknown-skill"),
    ],
)
def test_the_configuration_form_refuses_and_says_what_to_do(config: Any, message: str) -> None:
    with pytest.raises(InvalidSkillGraph, match=message):
        graph_from_config(config)


def test_the_builder_warns_and_the_configuration_throws_unless_told_otherwise() -> None:
    config: GraphConfig = {"skills": [TRIAGE]}
    with pytest.raises(InvalidSkillGraph, match="no-entry"):
        graph_from_config(config)
    with pytest.warns(SkillGraphWarning, match="no-entry"):
        skill_graph().skill(TRIAGE).build()
    with pytest.warns(SkillGraphWarning, match="no-entry"):
        graph_from_config({**config, "check": "warn"})
    silent = graph_from_config({**config, "check": "off"})
    assert not silent.checkup().ok
    assert silent.next_skill(SkillContext()) is None


def test_throw_lets_a_graph_with_mere_warnings_pass() -> None:
    graph = graph_from_config({"skills": [TRIAGE, SEARCH], "start": "triage"})
    assert [problem.code for problem in graph.checkup().problems] == ["unreachable-skill"]


def test_an_edge_to_a_skill_that_is_missing_is_drawn_and_never_taken() -> None:
    graph = (
        skill_graph()
        .entry("gone")
        .entry(TRIAGE)
        .route(TRIAGE, "lost", on_tool_return="page", priority=1)
        .route(TRIAGE, SEARCH, on_tool_return="page", priority=2)
        .build(check="off")
    )
    assert "gone (unknown)" in [node.label for node in graph.nodes]
    assert graph.next_skill(SkillContext()) == "triage"
    assert graph.next_skill(SkillContext(current_skill_id="triage", last_tool_result=ToolResult("page"))) == "search"
    assert graph.reachable_skills("triage") == ("search",)


@given(plain_graphs(odd_ids=True))
@settings(max_examples=20, deadline=None)
def test_a_graph_as_data_is_json_and_says_what_the_graph_says(plain: PlainGraph) -> None:
    graph = plain.as_builder()
    data = json.loads(json.dumps(graph.as_data()))
    assert [(edge["from"], edge["to"], edge["kind"], edge["label"]) for edge in data["edges"]] == [
        (edge.from_id, edge.to_id, edge.kind, edge.label) for edge in graph.edges
    ]
    assert {skill["id"]: skill["metadata"]["skill_graph"]["via"] for skill in data["skills"]} == {
        skill.id: skill.metadata["skill_graph"]["via"]  # type: ignore[index]  # a mapping; the test above shows it whole
        for skill in graph.skills
    }
    assert [problem["ids"] for problem in data["problems"]] == [list(p.ids) for p in graph.checkup().problems]
