"""The direction of dependencies: domain ← ports ← services ← entry points, and ports ← adapters."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import knotwork

PACKAGE = Path(knotwork.__file__).parent

# What each part may import of the package, besides itself. Whatever is not listed here is an entry point.
ALLOWED = {
    "errors": set[str](),
    "run_ids": set[str](),
    "domain": {"errors"},
    "config": {"errors"},
    "ports": {"domain", "errors"},
    "services": {"domain", "ports", "errors", "run_ids", "skills"},
    "skills": {"domain", "ports", "errors"},
    "adapters": {"domain", "ports", "errors", "run_ids", "config"},
    "bootstrap": {"domain", "ports", "services", "adapters", "config", "errors", "skills"},
    "api": {"domain", "ports", "services", "bootstrap", "config", "errors", "run_ids", "skills"},
    "cli": {"domain", "config", "errors", "api", "services", "adapters", "bootstrap", "skills"},
    "__main__": {"cli"},
}
# Parts that import no vendor: the standard library alone, but for the logging that services do.
PURE = {"domain": set[str](), "errors": set[str](), "ports": set[str](), "services": {"structlog"}}


def imports_of(path: Path) -> set[str]:
    """Every module that a file imports, inside functions too, as dotted names."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the direction"
            module = node.module or ""
            found |= {f"{module}.{alias.name}" for alias in node.names} if module == "knotwork" else {module}
    return found


def part_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def modules() -> list[tuple[str, Path]]:
    return [
        (path.relative_to(PACKAGE).parts[0].removesuffix(".py"), path)
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.parent != PACKAGE or path.name != "__init__.py"
    ]


def test_every_import_follows_the_direction() -> None:
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {module}"
        for part, path in modules()
        for module in sorted(imports_of(path))
        if module.startswith("knotwork.") and part_of(module) not in ALLOWED[part] | {part, ""}
    ]
    assert wrong == []


def test_the_core_imports_no_vendor() -> None:
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {module}"
        for part, path in modules()
        if part in PURE
        for module in sorted(imports_of(path))
        if module.split(".")[0] not in sys.stdlib_module_names | {"knotwork"} | PURE[part]
    ]
    assert wrong == []


def test_no_adapter_imports_another_vendors_adapter() -> None:
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {module}"
        for part, path in modules()
        if part == "adapters" and len(path.relative_to(PACKAGE).parts) > 2
        for module in sorted(imports_of(path))
        if module.startswith("knotwork.adapters.") and module.split(".")[2] != path.relative_to(PACKAGE).parts[1]
    ]
    assert wrong == []


def test_the_platform_folder_does_not_shadow_the_standard_library() -> None:
    assert not (PACKAGE.parent / "__init__.py").exists()
