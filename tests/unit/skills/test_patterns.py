"""Regular expressions of strangers: what is read, what is refused before it is compiled, and when a search ends."""

from __future__ import annotations

import time

import pytest

from knotwork.skills import SkillContext
from knotwork.skills.declared import load_graph
from knotwork.skills.patterns import MAX_PATTERN_SIZE, timed_pattern


@pytest.mark.parametrize(
    "pattern",
    [
        r"\b(INC|LGR)-\d+\b",
        r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        r"(?:\d{1,3}\.){3}\d{1,3}",
        r"[]{100}]\{9999\}[^]{1000}]",  # braces within classes and behind a backslash repeat nothing
        "a{0,1000000}",  # of a repeat only what must be there is written out
        f"a{{{MAX_PATTERN_SIZE}}}",
    ],
)
def test_a_usual_pattern_is_taken(pattern: str) -> None:
    assert timed_pattern(pattern).pattern == pattern


@pytest.mark.parametrize(
    "pattern",
    [
        "(a{1000000}){1000000}",
        "(?:a{100}){100}",
        "((a{20}){20}){20}",
        "a{10}{10}{10}{10}",
        f"a{{{MAX_PATTERN_SIZE + 1},}}",
        "a{" + "9" * 1000 + "}",
    ],
)
def test_repeats_that_would_fill_the_memory_are_refused_at_once(pattern: str) -> None:
    started = time.perf_counter()
    with pytest.raises(ValueError, match="repeat less"):
        timed_pattern(pattern)
    assert time.perf_counter() - started < 0.1


@pytest.mark.parametrize("pattern", ["(", "[", "a{2}{", "(?P<", "*", "(?(", "a" * 2_001])
def test_what_is_no_pattern_is_refused_in_words(pattern: str) -> None:
    try:
        timed_pattern(pattern)
    except ValueError as error:
        assert "regular expression" in str(error)  # noqa: PT017 - some of these are patterns to this engine


def test_equal_texts_are_equal_patterns() -> None:
    assert timed_pattern("a+") == timed_pattern("a+")
    assert hash(timed_pattern("a+")) == hash(timed_pattern("a+"))
    assert timed_pattern("a+") != timed_pattern("a*")


def test_a_search_that_runs_away_ends() -> None:
    started = time.perf_counter()
    with pytest.raises(TimeoutError):
        timed_pattern("(x+x+)+y").search("x" * 5_000)
    assert time.perf_counter() - started < 2


def test_a_step_of_a_graph_of_1_000_patterns_compiles_none_anew() -> None:
    skills = ", ".join(f"{{id: s{number}}}" for number in range(1_000))
    rules = ", ".join(f"{{use: s{n}, when: 'message matches \"foo{n}bar\"'}}" for n in range(1_000))
    graph = load_graph(f"skills: [{skills}]\nstart: {{rules: [{rules}]}}\n")
    started = time.perf_counter()
    assert graph.next_skill(SkillContext("foo999bar")) == "s999"
    assert time.perf_counter() - started < 0.1  # compiling them takes longer than that
