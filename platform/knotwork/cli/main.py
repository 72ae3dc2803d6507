"""The `knotwork` command. Heavy imports happen inside the commands, so that help is quick."""

from __future__ import annotations

import os
import sys
import traceback
from typing import Annotated

import typer

from knotwork.cli import (
    admin,
    demo,
    doctor,
    evaluating,
    exports,
    ingest,
    jobs,
    maintenance,
    paths,
    queries,
    service,
    skills,
    sources,
    traversals,
    upkeep,
    usage,
)
from knotwork.cli.output import json_text, printable
from knotwork.cli.session import HomeOption, JsonOption, TenantOption
from knotwork.errors import PlatformError

INTERRUPTED = 130  # as shells have it for SIGINT

app = typer.Typer(
    name="knotwork",
    help="Answers that no single passage holds, each with its evidence, from Neo4j and Qdrant on this machine.",
    epilog="KNOTWORK_DEBUG=1 shows the trace of an error.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # plain help: it survives narrow terminals and pipes, and rich need not load
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for module in (
    service,
    ingest,
    queries,
    paths,
    traversals,
    sources,
    jobs,
    upkeep,
    usage,
    skills,
    exports,
    maintenance,
    evaluating,
    doctor,
    admin,
    demo,
):
    module.register(app)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"knotwork {version('knotwork')}")
        raise typer.Exit


@app.callback()
def main(
    context: typer.Context,
    home: HomeOption = None,
    tenant: TenantOption = None,
    json: JsonOption = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Answers that no single passage holds, each with its evidence, from Neo4j and Qdrant on this machine."""
    del version  # its callback has printed it
    context.obj = {"home": home, "tenant": tenant, "json": json}


def run() -> None:
    """The console script: exit code 0, 1 for a failure, 2 for wrong usage, 130 for Ctrl-C."""
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the interpreter flushes it once more
        sys.exit(1)
    except Exception as error:  # noqa: BLE001 - whatever it is, the user gets words and not a trace
        sys.exit(_fail(error))


def _fail(error: Exception) -> int:
    """Say what went wrong and what to do."""
    if os.environ.get("KNOTWORK_DEBUG"):
        traceback.print_exception(error)
    code = getattr(error, "code", PlatformError.code)
    if _is_ours(error):
        message = str(error)
    elif isinstance(error, OSError):
        message = f"{error.filename or 'the system'}: {error.strerror or error}"
    else:
        message = f"unexpected {type(error).__name__}: {error}; KNOTWORK_DEBUG=1 shows the trace, please report it"
    if "--json" in sys.argv:
        sys.stdout.write(json_text({"error": {"code": code, "message": message}}) + "\n")
    sys.stderr.write(f"knotwork: {printable(message)}\n")
    return 1


def _is_ours(error: Exception) -> bool:
    if isinstance(error, PlatformError):
        return True
    client = sys.modules.get("knotwork.cli.client")  # loaded if it raised
    return client is not None and isinstance(error, client.Refused | client.Unreachable)
