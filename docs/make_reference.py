"""Writes the reference pages that repeat what the code says: `python docs/make_reference.py`.

A test compares the committed pages with what this gives, so that settings, routes, commands and error codes cannot
drift from their documentation.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import typer.main

from knotwork.api.app import create_app
from knotwork.api.problems import STATUS
from knotwork.bootstrap import Platform
from knotwork.cli.main import app as command_line
from knotwork.config import Settings

FOLDER = Path(__file__).parent / "reference"
NOTE = "<!-- Written by docs/make_reference.py; change the code, then run it. -->\n"


def pages() -> dict[str, str]:
    """The text of each generated page, by file name."""
    return {"settings.md": settings(), "rest.md": rest(), "cli.md": commands(), "errors.md": errors()}


def settings() -> str:
    rows = [
        f"| `KNOTWORK_{name.upper()}` | {_default(field.default)} | {_cell(field.description or '')} |"
        for name, field in Settings.model_fields.items()
    ]
    return _page(
        "Settings",
        "Read from the environment once, when the service starts. Secrets never show in logs.",
        ["| variable | default | meaning |", "|---|---|---|", *rows],
    )


def rest() -> str:
    platform = cast("Platform", SimpleNamespace(settings=Settings(), intake=None))
    paths: dict[str, dict[str, Any]] = create_app(platform, operator_token="").openapi()["paths"]
    rows = [
        f"| `{method.upper()} {path}` | {_does(operation)} | {_codes(operation)} |"
        for path, operations in paths.items()
        for method, operation in operations.items()
    ]
    return _page(
        "REST",
        "The service shows the same with examples at `/docs`, and as OpenAPI at `/v1/openapi.json`. What headers and "
        "keys mean stands in the [guide](../guide/running.md#keys-and-readers); errors are "
        "[problem details](errors.md).",
        ["| route | does | answers |", "|---|---|---|", *rows],
    )


def commands() -> str:
    rows = [
        f"| `knotwork {name}` | {_cell(text)} |" for name, text in _commands(typer.main.get_command(command_line), "")
    ]
    return _page(
        "Command line",
        "`knotwork COMMAND --help` tells the options. Every command takes `--home`, `--tenant` and `--json`, and ends "
        "with 0, with 1 when something failed, or with 2 when it was called wrongly.",
        ["| command | does |", "|---|---|", *rows],
    )


def errors() -> str:
    rows = [f"| `{code}` | {status} |" for code, status in sorted(STATUS.items())]
    return _page(
        "Errors",
        "Problem details (RFC 9457), `application/problem+json`, with a stable `code`; `detail` says what to do. Where "
        "a later attempt may succeed, `Retry-After` says when.",
        ["| code | status |", "|---|---|", *rows],
    )


def _commands(group: Any, before: str) -> list[tuple[str, str]]:
    """Every command below a group of typer's, whose own types are private."""
    found: list[tuple[str, str]] = []
    for name, command in sorted(group.commands.items()):
        if hasattr(command, "commands"):
            found += _commands(command, f"{before}{name} ")
        elif not command.hidden:
            found.append((f"{before}{name}", command.get_short_help_str(200)))
    return found


def _does(operation: dict[str, Any]) -> str:
    """The first paragraph of what a route's function says."""
    return _cell(operation["description"].split("\n\n")[0])


def _codes(operation: dict[str, Any]) -> str:
    """What it answers when all is well."""
    return ", ".join(code for code in operation["responses"] if code < "300")


def _default(value: object) -> str:
    return "" if value is None else f"`{value}`"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _page(title: str, text: str, lines: list[str]) -> str:
    return "\n".join([NOTE, f"# {title}", "", text, "", *lines, ""])


if __name__ == "__main__":
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
