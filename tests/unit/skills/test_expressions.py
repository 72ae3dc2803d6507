"""The language of conditions: what it means, what it refuses and where, and that nothing in it runs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork.skills import PredicateFailed, Skill, SkillContext, ToolResult, skill_graph
from knotwork.skills.expressions import ExpressionError, context_condition, result_condition

CTX = SkillContext(
    "Please REFUND order 42",
    iteration=3,
    current_skill_id="triage",
    last_tool_result=ToolResult("search", {"hits": [{"score": 0.5}, {"score": 2}], "note": "nothing", "empty": []}),
    metadata={"tier": "gold", "flags": ["beta", 7], "odd key": True, "ratio": 1.5, "nested": {"deep": None}},
)


@pytest.mark.parametrize(
    "holds",
    [
        "true",
        "message",
        "message contains 'refund'",
        "message contains 'Straße' or message contains 'order'",
        'message matches "(?i)please.*\\d+"',
        "not message matches '^refund'",
        "iteration == 3 and iteration >= 3 and iteration < 4 and iteration != 4",
        "iteration == 3.0",
        "metadata.ratio > 1.25 and metadata.ratio > -2",
        "skill == 'triage'",
        "tool == \"search\" and tool <= 'search'",
        "result.hits[1].score >= 2",
        "result.hits[0].score == 0.5",
        "result.note == 'nothing'",
        "not result.empty",
        "metadata.flags contains 'beta' and metadata.flags contains 7",
        "metadata contains 'tier'",
        "metadata['odd key'] == true",
        "metadata.nested.deep == null and metadata.absent.deeper == null and result.hits[9] == null",
        "false or not false and true",
        "not (false or not (true))",
        "not not true",
        "'a\\'b' == \"a'b\" and 'a\\\\d' == 'a\\d'",
    ],
)
def test_what_holds(holds: str) -> None:
    assert context_condition(holds)(CTX) is True
    assert context_condition(f"not ({holds})")(CTX) is False


@pytest.mark.parametrize(
    "fails",
    [
        "null",
        "0",
        "''",
        "metadata.absent",
        "iteration == true",
        "1 == true",
        "iteration < '4'",
        "iteration > null",
        "message < 4",
        "true < 2",
        "iteration contains 3",
        "message contains 42",
        "iteration matches '3'",
        "result matches 'nothing'",
        "message.length",
        "message[0]",
        "metadata.flags.beta",
        "true and false or false",
    ],
)
def test_what_does_not_hold_and_is_no_error_either(fails: str) -> None:
    assert context_condition(fails)(CTX) is False


def test_without_a_tool_result_its_names_are_null() -> None:
    cold = SkillContext("hello")
    assert context_condition("tool == null and result == null and result.hits == null and skill == null")(cold)


def test_a_route_sees_the_tool_result_only() -> None:
    assert result_condition("tool == 'search' and result.hits")(ToolResult("search", {"hits": [1]}))
    with pytest.raises(ExpressionError, match="unknown name 'message'; use result, tool; a route sees") as refused:
        result_condition("result and message")
    assert refused.value.position == 11


@pytest.mark.parametrize(
    ("text", "reason", "position"),
    [
        ("", "expected a value, found the end", 0),
        ("  ", "expected a value, found the end", 0),
        ("message =", "unexpected '='", 8),
        ("message ==", "expected a value, found the end", 10),
        ("message contains", "expected a value, found the end", 16),
        ("'open", "a text without its closing quote", 0),
        ("message 'a'", "expected and, or, or the end, found \"'a'\"", 8),
        ("(message", "expected a closing bracket, found the end", 8),
        ("message)", r"expected and, or, or the end, found '\)'", 7),
        ("and message", "expected a value, found 'and'", 0),
        ("message matches message", "expected a regular expression in quotes", 16),
        ("message matches '('", "not a regular expression", 16),
        ("metadata.", "expected a key, found the end", 9),
        ("metadata[message]", "expected a key in quotes", 9),
        ("metadata[-1]", "expected a key in quotes", 9),
        ("metadata['a'", "expected a closing bracket", 12),
        ("1 < 2 < 3", "expected and, or, or the end, found '<'", 6),
        ("123abc == 1", "unexpected '1'", 0),
        ("user == 1", "unknown name 'user'", 0),
        ("__import__('os')", "unknown name '__import__'", 0),
        ("message.__class__ ; x", "unexpected ';'", 18),
        ("(" * 51 + "true" + ")" * 51, "more than 50", 51),
        ("not " * 60 + "true", "more than 50", 204),
        ("true or " * 300 + "true", "at most 2000", 2000),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(text: str, reason: str, position: int) -> None:
    with pytest.raises(ExpressionError, match=reason) as refused:
        context_condition(text)
    assert refused.value.position == position


def test_attributes_of_objects_cannot_be_reached() -> None:
    class Secret:
        password = "hunter2"

    ctx = SkillContext(metadata={"object": Secret(), "text": "a"})
    for path in ("metadata.object.password", "metadata.text.upper", "metadata.__class__", "metadata.object.__dict__"):
        assert context_condition(f"{path} == null")(ctx)


def test_a_regular_expression_that_runs_away_is_stopped_and_named() -> None:
    graph = skill_graph().entry(Skill("a"), when=context_condition("message matches '(a|aa)+$'")).build()
    assert graph.next_skill(SkillContext("aaa")) == "a"
    with pytest.raises(PredicateFailed, match=r"entry 'a' failed \(TimeoutError"):
        graph.next_skill(SkillContext("a" * 60 + "!"))


def test_conditions_of_one_meaning_are_equal() -> None:
    assert context_condition("message  contains 'a'") == context_condition('(message contains "a")')
    assert context_condition("message contains 'a'") != context_condition("message contains 'b'")
    assert len({context_condition("message matches 'a'"), context_condition("message matches 'a'")}) == 1


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
    max_leaves=8,
)
OPERANDS = st.sampled_from(
    ["message", "iteration", "tool", "result", "result.a", "result.a[0].b", "metadata.b", "1", "'a'", "null", "true"]
)
TESTS = st.builds(
    "{} {} {}".format, OPERANDS, st.sampled_from(["==", "!=", "<", "<=", ">", ">=", "contains"]), OPERANDS
) | st.builds("{} matches 'a+'".format, OPERANDS)
CONDITIONS = st.recursive(
    TESTS,
    lambda inner: (
        st.builds("({} and {})".format, inner, inner)
        | st.builds("({} or {})".format, inner, inner)
        | st.builds("not {}".format, inner)
    ),
    max_leaves=6,
)


@given(CONDITIONS, VALUES, VALUES, st.text(max_size=5))
def test_every_condition_answers_for_every_context(source: str, result: Any, extra: Any, message: str) -> None:
    ctx = SkillContext(message, last_tool_result=ToolResult("t", result), metadata={"b": extra})
    condition = context_condition(source)
    assert condition(ctx) is condition(ctx)
    assert context_condition(f"not ({source})")(ctx) is not condition(ctx)


@given(
    st.text(max_size=40)
    | st.lists(st.sampled_from(["(", ")", "not", "and", "message", "'", "[", ".", "1"])).map(" ".join)
)
def test_any_text_is_read_or_refused(source: str) -> None:
    try:
        condition = context_condition(source)
    except ExpressionError as error:
        refused = error
    else:
        assert isinstance(condition(CTX), bool)
        return
    assert 0 <= refused.position <= len(source)
