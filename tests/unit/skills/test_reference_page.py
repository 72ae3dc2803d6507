"""The reference page is run: its example, its drawing, and its lists of codes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from knotwork.skills import ActivationKind, ProblemCode, errors

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "skills.md").read_text(encoding="utf-8")


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


async def test_the_scored_example_starts_where_a_person_would(names: dict[str, Any]) -> None:
    ctx = await names["begin"]("Which policy covers a freeze, and what does it allow?")
    assert names["menu"].next_skill(ctx) == "policy"


def test_the_page_explains_each_code() -> None:
    raised = [
        error for error in vars(errors).values() if isinstance(error, type) and error.__module__ == errors.__name__
    ]
    for code in (*(error.code for error in raised), *ProblemCode, *ActivationKind):
        assert f"`{code}`" in PAGE, code
