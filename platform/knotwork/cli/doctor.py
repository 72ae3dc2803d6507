"""`knotwork doctor`: what is missing, and how to mend it."""

from __future__ import annotations

from dataclasses import asdict

import typer

from knotwork.cli.session import Session, command

STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "doctor")(doctor)


def doctor(session: Session) -> None:
    """Check the installation and this home.

    Each line is ok, warn or fail, and says how to mend what is not well; exit code 1 if something fails.
    """
    from knotwork.cli.checks import Check, run_checks

    checks: list[Check] = []
    for check in run_checks(session.home):
        checks.append(check)
        if not session.output.as_json:
            session.output.line(f"{check.state:<5} {check.name}: {check.found}", style=STYLES[check.state])
            if check.mend:
                session.output.line(f"mend: {check.mend}", indent=6)
    failed = any(check.state == "fail" for check in checks)
    if session.output.as_json:
        session.output.document({"well": not failed, "checks": [asdict(check) for check in checks]})
    if failed:
        raise typer.Exit(1)
