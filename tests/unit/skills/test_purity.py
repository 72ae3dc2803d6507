"""The core of the skill graph stands on the standard library, the domain and the ports' types alone."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import knotwork.skills

FOLDER = Path(knotwork.skills.__file__).parent
FILES = {
    "conditions",
    "patterns",
    "expressions",
    "document",
    "declared",
    "evaluation",
}  # graphs declared as data, which need regex and yaml
OURS = ("knotwork.domain", "knotwork.errors", "knotwork.ports.models", "knotwork.skills")


def imported(module: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            yield node.module or ""


@pytest.mark.parametrize("module", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_a_module_imports_only_what_it_may(module: Path) -> None:
    vendors = {"regex", "yaml"} if module.stem in FILES else set[str]()
    for name in imported(module):
        top = name.split(".")[0]
        assert name.startswith(OURS) or top in sys.stdlib_module_names or top in vendors, name
        if module.stem not in FILES:
            assert name.removeprefix("knotwork.skills.") not in FILES, f"the core imports {name}"


@pytest.mark.parametrize("module", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_nothing_is_executed_as_code(module: Path) -> None:
    calls = {
        node.func.id
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert calls.isdisjoint({"eval", "exec", "compile", "__import__", "open"})
