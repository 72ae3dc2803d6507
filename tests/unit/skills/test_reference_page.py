"""The reference page is run: its example, its drawing, and its lists of codes."""

from __future__ import annotations

import contextlib
import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from knotwork.cli.main import app
from knotwork.skills import ActivationKind, ProblemCode, SkillContext, ToolResult, errors
from knotwork.skills.declared import load_graph
from knotwork.skills.evaluation import StepAnswer, evaluate
from knotwork.skills.expressions import context_condition

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "reference" / "skills.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    """Everything that the page's Python defines; its assertions run on the way."""
    defined: dict[str, Any] = {}
    for block in blocks("python"):
        exec(compile(block, "docs/reference/skills.md", "exec"), defined)  # the page is the test's input
    return defined


def test_the_drawing_on_the_page_is_that_of_its_example(names: dict[str, Any]) -> None:
    assert blocks("mermaid") == [names["graph"].to_mermaid()]


def test_the_file_on_the_page_declares_the_same_graph(names: dict[str, Any]) -> None:
    (text,) = blocks("yaml")
    loaded = load_graph(text + "check: off\n")
    built = names["graph"]
    assert (loaded.skills, loaded.edges, loaded.nodes) == (built.skills, built.edges, built.nodes)
    assert loaded.checkup() == built.checkup()
    alarm = SkillContext("LGR-1207 on Ledger, whom do I wake?")
    found = SkillContext(alarm.user_message, 1, "triage", ToolResult("search", ["services/ledger.md"]))
    for ctx in (alarm, found, SkillContext("Which POLICY holds?"), SkillContext("good morning")):
        assert loaded.step(ctx) == built.step(ctx)


def test_the_condition_on_the_page_is_one() -> None:
    text = blocks("text")[0]
    condition = context_condition(text)
    assert condition(SkillContext("a Refund please", 2))
    assert not condition(SkillContext("a Refund please", 3))


def test_the_step_on_the_page_is_answered_so() -> None:
    sent, shown = (json.loads(block) for block in blocks("json"))
    context = sent["context"]
    last = ToolResult(**context.pop("last_tool_result"))
    answer = evaluate(blocks("yaml")[0], SkillContext(**context, last_tool_result=last))
    assert isinstance(answer, StepAnswer)
    assert answer.move.edge is not None
    assert (answer.move.to_id, answer.move.by, answer.move.reason) == (shown["cursor"], shown["by"], shown["reason"])
    assert (answer.move.edge.from_id, answer.move.edge.label) == (shown["edge"]["from"], shown["edge"]["label"])
    assert [one.id for one in answer.active] == [one["id"] for one in shown["active_skills"]]
    assert list(answer.tools) == shown["active_tools"]
    assert asdict(answer.reachable[0]) == shown["reachable_skills"][0]
    assert len(answer.reachable) == 4


def test_the_conversation_on_the_page_goes_so() -> None:
    command, *lines = blocks("text")[1].splitlines()
    words = command.removeprefix("$ knotwork ").split()
    with contextlib.chdir(ROOT):
        said = CliRunner().invoke(app, words).stdout.splitlines()
    assert said[: len(lines) - 1] == lines[:-1]


async def test_the_scored_example_starts_where_a_person_would(names: dict[str, Any]) -> None:
    ctx = await names["begin"]("Which policy covers a freeze, and what does it allow?")
    assert names["menu"].next_skill(ctx) == "policy"


def test_the_page_explains_each_code() -> None:
    raised = [
        error for error in vars(errors).values() if isinstance(error, type) and error.__module__ == errors.__name__
    ]
    for code in (*(error.code for error in raised), *ProblemCode, *ActivationKind):
        assert f"`{code}`" in PAGE, code
