"""Graphs declared as data: the same graph as the other forms, errors with line and column, one published schema."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import jsonschema_rs
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from knotwork.skills import (
    EmbeddingScorer,
    InvalidDeclaration,
    InvalidSkillGraph,
    KeywordScorer,
    PredicateFailed,
    Skill,
    SkillContext,
    ToolResult,
    decide_skill,
    skill_graph,
)
from knotwork.skills.declared import json_schema, load_graph
from knotwork.skills.expressions import context_condition, result_condition
from knotwork.skills.patterns import timed_pattern

ASSISTANT = r"""
skills:
  - id: triage
    description: an alert, an incident or an error code
    instructions: |
      Search for the code.
      Name the service.
    tools: [search, paths]
    auto_activate: current_skill
    metadata: {owner: sre, level: 2, on_call: true, since: 2026-03-01, rate: 1e-3}
  - id: owner
  - {id: escalate, tools: [page]}
  - id: ground rules
start:
  rules:
    - use: triage
      when: skill == null and message matches "\b(INC|LGR)-\d+"
      label: names a code
    - use: ground rules
steps:
  - from: triage
    to: owner
    on_tool_return: search
    when: result.hits
    label: found
    priority: 1
  - {from: triage, to: escalate, on_tool_return: {matches: "^search"}, priority: 2}
  - {from: owner, to: escalate, when: 'tool == "rota" and not result'}
check: throw
"""

TREE = """
skills: [{id: a}, {id: b}]
tree:
  if: message contains "policy"
  label: a policy?
  then: a
  else:
    if: metadata.tier == 'gold'
    then: b
    else: a
scope_tools: off
"""


def test_a_file_compiles_to_the_graph_that_the_builder_makes() -> None:
    metadata = {"owner": "sre", "level": 2, "on_call": True, "since": "2026-03-01", "rate": 0.001}
    triage = Skill(
        "triage",
        "an alert, an incident or an error code",
        "Search for the code.\nName the service.\n",
        ("search", "paths"),
        metadata,
        "current_skill",
    )
    owner, escalate, rules = Skill("owner"), Skill("escalate", tools=("page",)), Skill("ground rules")
    names_a_code = context_condition(r'skill == null and message matches "\b(INC|LGR)-\d+"')
    built = (
        skill_graph()
        .entry(triage, when=names_a_code, label="names a code")
        .entry(rules)
        .route(triage, owner, on_tool_return="search", when=result_condition("result.hits"), label="found", priority=1)
        .route(triage, escalate, on_tool_return=timed_pattern("^search"), priority=2)
        .route(owner, escalate, when=result_condition('tool == "rota" and not result'))
        .build(check="throw")
    )
    loaded = load_graph(ASSISTANT)
    assert loaded == built
    assert loaded.to_mermaid() == built.to_mermaid()
    assert dict(loaded.skill("triage").metadata) == dict(built.skill("triage").metadata)


def test_a_conversation_over_a_file() -> None:
    graph = load_graph(ASSISTANT)
    ctx = SkillContext("LGR-1207, whom do I wake?")
    assert graph.next_skill(ctx) == "triage"
    ctx = ctx.next("triage", ToolResult("search", {"hits": []}))
    assert graph.next_skill(ctx) == "escalate"
    assert graph.next_skill(ctx.next("triage", ToolResult("search", {"hits": ["ledger"]}))) == "owner"
    assert graph.next_skill(SkillContext("good morning")) == "ground rules"


def test_a_tree_in_a_file() -> None:
    first, second = context_condition("message contains 'policy'"), context_condition("metadata.tier == 'gold'")
    root = decide_skill(
        first, Skill("a"), decide_skill(second, Skill("b"), "a", "metadata.tier == 'gold'"), "a policy?"
    )
    assert load_graph(TREE.replace("off", "false")) == skill_graph().tree(root, scope_tools=False).build()


@pytest.mark.parametrize("text", [ASSISTANT, TREE])
def test_json_reads_as_yaml_does(text: str) -> None:
    scope = text.replace("scope_tools: off", "scope_tools: false")
    typed = yaml.safe_load(scope.replace("1e-3", "0.001").replace("2026-03-01", "'2026-03-01'"))
    assert load_graph(json.dumps(typed, indent="\t")) == load_graph(scope)


@pytest.mark.parametrize(
    ("start", "scorer"),
    [
        ("{entries: [a, {use: b, when: message}], scored_by: keyword, temperature: 0.5}", KeywordScorer(0.5)),
        ("{entries: [a, b], scored_by: keyword, by_relevance: true}", KeywordScorer()),
        ("{entries: [a, b], by_relevance: false}", None),
        ("{entries: [a, b]}", None),
    ],
)
def test_the_start_may_be_a_choice(start: str, scorer: Any) -> None:
    graph = load_graph(f"skills: [{{id: a}}, {{id: b}}]\nstart: {start}")
    assert graph.scorer == scorer
    assert graph.entry_choice == ("read" if scorer is None else "scorer")


def test_by_relevance_takes_the_embedder_that_is_given() -> None:
    class Unused:
        id = "unused"
        dimension = 1

    embedder: Any = Unused()
    text = "skills: [{id: a}]\nstart: {entries: [a], by_relevance: true, temperature: 0.2}"
    assert load_graph(text, embedder=embedder).scorer == EmbeddingScorer(embedder, 0.2)
    with pytest.raises(InvalidDeclaration, match="line 2, column 37: by_relevance needs an embedder"):
        load_graph(text)


def test_words_that_yaml_takes_for_truth_values_are_text() -> None:
    graph = load_graph("skills: [{id: no}, {id: on}]\nstart: no\ncheck: off")
    assert [skill.id for skill in graph.skills] == ["no", "on"]


PLACES = [
    ("", 1, 1, "empty"),
    ("skills: a: b", 1, 10, "not YAML or JSON"),
    ("- a", 1, 1, "expected a mapping, found a list"),
    ("start: a", 1, 1, "'skills' is missing"),
    ("skills: []\nstarts: a", 2, 1, "unknown key 'starts'"),
    ("skills: []\nskills: []", 2, 1, "stands here twice"),
    ("skills: {id: a}", 1, 9, "expected a list, found a mapping"),
    ("skills: [{id: 42}]", 1, 15, r"expected a text, found '42' \(int\)"),
    ("skills: [{id: null}]", 1, 15, "expected a text"),
    ("skills: [{id: ' '}]", 1, 15, "not be blank"),
    ("skills: [{id: a}, {id: a}]", 1, 24, "second skill with the id 'a'"),
    ("skills: [{id: a, metadata: [1]}]", 1, 28, "metadata is a mapping"),
    ("skills: [{id: a, auto_activate: maybe}]", 1, 33, "none of current_skill, always"),
    ("skills: []\nstart: {label: x}", 2, 8, "use, rules and entries"),
    ("skills: []\nstart: {rules: [], entries: []}", 2, 20, "unknown key 'entries'"),
    ("skills: []\nstart: {entries: [], temperature: 1}", 2, 35, "needs scored_by"),
    ("skills: []\nstart: {entries: [], scored_by: luck}", 2, 33, "none of keyword"),
    ("skills: []\nstart: {entries: [], scored_by: keyword, temperature: 0}", 2, 55, "above 0"),
    ("skills: []\nsteps: [{from: a, to: b}]", 2, 9, "needs a condition"),
    ("skills: []\nsteps: [{from: a, to: b, when: result, priority: high}]", 2, 50, "expected a whole number"),
    ("skills: []\nsteps: [{from: a, to: b, on_tool_return: {matches: '('}}]", 2, 52, "not a regular expression"),
    (f"skills: []\nsteps: [{{from: a, to: b, on_tool_return: {{matches: {'a' * 2001}}}}}]", 2, 52, "at most 2000"),
    ("skills: []\ntree: {if: message, then: a}", 2, 7, "'else' is missing"),
    ("skills: []\nstart: a\ntree: a", 2, 8, "start cannot stand beside a tree"),
    ("skills: []\nscope_tools: true", 2, 14, "belongs to a tree"),
    ("skills: &all []\nsteps: *all", 2, 8, "aliases are not read"),
    ("skills: " + "[" * 300, 1, 208, "nested deeper"),
    ("skills: []\x00", 1, 1, "not YAML or JSON"),
    ("# " + "x" * 1_000_000, 1, 1, "more than 1000000 characters"),
]


@pytest.mark.parametrize(("text", "line", "column", "reason"), PLACES)
def test_what_cannot_be_read_is_refused_with_line_and_column(text: str, line: int, column: int, reason: str) -> None:
    with pytest.raises(InvalidDeclaration, match=reason) as refused:
        load_graph(text)
    assert (refused.value.line, refused.value.column) == (line, column)
    assert str(refused.value).startswith(f"line {line}, column {column}: ")


@pytest.mark.parametrize(
    ("when", "line", "column"),
    [
        ("message and oops", 3, 23),
        ("'message and oops'", 3, 24),
        ("'metadata[''ü''] and oops'", 3, 32),
        (r'"message == \"\u00fc\" and oops"', 3, 38),
        ("|\n      message\n      and oops", 5, 11),
        (">\n      message\n      and oops", 3, 11),
        ("message\n      and oops", 3, 11),
    ],
)
def test_a_bad_condition_is_placed_within_its_text(when: str, line: int, column: int) -> None:
    text = f"skills: [{{id: a}}]\nstart:\n    when: {when}\n    use: a\n"
    with pytest.raises(InvalidDeclaration, match="unknown name 'oops'") as refused:
        load_graph(text)
    assert (refused.value.line, refused.value.column) == (line, column)


def test_a_place_is_counted_in_characters_after_any_script() -> None:
    with pytest.raises(InvalidDeclaration, match="oops") as refused:
        load_graph("skills: [{id: a, description: 退款😀}]\nstart: {label: 'Москва', use: a, when: 'oops'}")
    assert (refused.value.line, refused.value.column) == (2, 40)


def test_json_escapes_of_characters_beyond_the_basic_plane_are_one_character() -> None:
    graph = load_graph('{"skills": [{"id": "\\ud83d\\ude00"}], "start": "\\ud83d\\ude00"}')
    assert graph.skills[0].id == "😀"


def test_the_check_up_still_judges_what_was_read() -> None:
    with pytest.raises(InvalidSkillGraph, match="unknown-skill: 'b'"):
        load_graph("skills: [{id: a}]\nstart: b")
    assert not load_graph("skills: [{id: a}]\nstart: b\ncheck: off").checkup().ok


def test_a_tool_pattern_from_a_file_cannot_run_away() -> None:
    graph = load_graph(
        "skills: [{id: a}, {id: b}]\nstart: a\nsteps: [{from: a, to: b, on_tool_return: {matches: '(a|aa)+$'}}]"
    )
    with pytest.raises(PredicateFailed, match="TimeoutError"):
        graph.next_skill(SkillContext(current_skill_id="a", last_tool_result=ToolResult("a" * 60 + "!")))


def test_no_tag_of_yaml_makes_an_object() -> None:
    for tag in ("!!python/object/apply:os.system [id]", "!!python/name:os.system x", "!custom x", "!!binary aGk="):
        with pytest.raises(InvalidDeclaration):
            load_graph(f"skills: [{{id: {tag}}}]")


def test_a_file_of_two_thousand_skills_loads_quickly() -> None:
    skills = "\n".join(f"  - {{id: s{number}, description: number {number}}}" for number in range(2000))
    steps = "\n".join(
        f"  - {{from: s{number}, to: s{number + 1}, when: 'result.next == {number}'}}" for number in range(1999)
    )
    started = time.process_time()
    graph = load_graph(f"skills:\n{skills}\nstart: s0\nsteps:\n{steps}\n")
    assert time.process_time() - started < 5
    assert len(graph.skills) == 2000


# The schema ------------------------------------------------------------------------------------------------------

VALIDATOR = jsonschema_rs.validator_for(json_schema())


@pytest.mark.parametrize("text", [ASSISTANT, TREE])
def test_the_schema_takes_what_is_read(text: str) -> None:
    data = yaml.safe_load(text.replace("2026-03-01", "'2026-03-01'").replace("off", "false"))
    VALIDATOR.validate(data)


@pytest.mark.parametrize(
    "text",
    [
        text
        for text, _, _, reason in PLACES
        if not re.search("YAML|empty|twice|second|regular|needs scored_by|aliases|deeper|more than|at most", reason)
    ],
)
def test_the_schema_refuses_what_is_refused_for_its_shape(text: str) -> None:
    assert not VALIDATOR.is_valid(yaml.safe_load(text))


SCALARS = st.sampled_from(["a", "b", "message", "result", 1, True, None, 0.5])
KEYS = st.sampled_from(["use", "when", "label", "from", "to", "if", "then", "else", "rules", "entries", "priority"])
SHAPES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=3))
DOCUMENTS = st.fixed_dictionaries(
    {"skills": st.just([{"id": "a"}])}, optional=dict.fromkeys(("start", "steps", "tree"), SHAPES)
)


@given(DOCUMENTS)
def test_schema_and_reader_agree_on_every_shape(data: dict[str, Any]) -> None:
    try:
        load_graph(json.dumps({**data, "check": "off"}))
    except InvalidDeclaration as error:
        refused = error
    else:
        assert VALIDATOR.is_valid(data)
        return
    # The schema cannot read conditions: there the reader alone refuses names and syntax.
    assert not VALIDATOR.is_valid(data) or "unknown name" in refused.reason
