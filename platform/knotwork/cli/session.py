"""The options that every command takes, and what they stand for."""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from knotwork.cli.output import Output

if TYPE_CHECKING:
    from knotwork.cli.client import Client

T = TypeVar("T")

DEFAULT_HOME = Path(".knotwork")
DEFAULT_TENANT = "default"
TENANT = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")

HomeOption = Annotated[
    Path | None,
    typer.Option(
        "--home",
        metavar="DIR",
        help="Folder of everything stored; else $KNOTWORK_HOME, else .knotwork in the current folder. "
        "Each home has a service of its own.",
    ),
]
TenantOption = Annotated[str | None, typer.Option("--tenant", metavar="NAME", help="Tenant; 'default' if not given.")]
JsonOption = Annotated[
    bool, typer.Option("--json", help="One JSON document on standard output, all else on standard error.")
]
GLOBAL_OPTIONS = {"home": HomeOption, "tenant": TenantOption, "json": JsonOption}
GLOBAL_DEFAULTS: dict[str, Any] = {"home": None, "tenant": None, "json": False}


@dataclass(frozen=True, slots=True)
class Session:
    """What one call of the command line works on."""

    home: Path  # absolute
    tenant: str
    output: Output
    home_given: bool = True  # by option or environment

    def call(self, work: Callable[[Client], Awaitable[T]]) -> T:
        """Run `work` with a client of this home's service, which is started if there is none.

        Raises:
            SetupFailed: the service cannot be started.
            Refused: it refuses a request.
        """
        from knotwork.cli.client import Client
        from knotwork.cli.lifecycle import ensure_service

        service = ensure_service(self.home, self.output)

        async def run() -> T:
            async with Client(service.url, token=service.operator_token, tenant=self.tenant) as client:
                return await work(client)

        return asyncio.run(run())


def merged(context: typer.Context, **options: Any) -> dict[str, Any]:
    """The global options given here, else those given before the command's name."""
    before: dict[str, Any] = context.obj or {}
    return {option: value or before.get(option) for option, value in options.items()}


def open_session(*, home: Path | None, tenant: str | None, json: bool | None) -> Session:
    """The session that these options, and the environment where they say nothing, ask for."""
    given = home or (Path(os.environ["KNOTWORK_HOME"]) if os.environ.get("KNOTWORK_HOME") else None)
    return Session(
        home=(given or DEFAULT_HOME).expanduser().resolve(),  # as the service does
        tenant=_checked_tenant(tenant or DEFAULT_TENANT),
        output=Output(as_json=bool(json)),
        home_given=given is not None,
    )


def _checked_tenant(tenant: str) -> str:
    if not TENANT.fullmatch(tenant):
        raise typer.BadParameter(f"{tenant!r} is no tenant name: lower-case letters, digits and . _ - after the first")
    return tenant


def command(app: typer.Typer, name: str, **settings: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function whose first parameter is the Session as a command that takes the global options too.

    So they may stand before or after the command's own (`knotwork sources --json`), and every help lists them.
    """

    def register(function: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(function, eval_str=True)
        kept = list(own.parameters.values())[1:]
        added = [
            inspect.Parameter(
                option, inspect.Parameter.KEYWORD_ONLY, default=GLOBAL_DEFAULTS[option], annotation=annotation
            )
            for option, annotation in GLOBAL_OPTIONS.items()
        ]

        context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)

        @functools.wraps(function)
        def run(*, context: typer.Context, **values: Any) -> None:
            given = merged(context, **{option: values.pop(option) for option in GLOBAL_OPTIONS})
            function(open_session(**given), **values)

        del run.__wrapped__  # typer reads the signature through it
        parameters = [context, *(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in kept), *added]
        run.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]  # PEP 362's own hook
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        app.command(name, **settings)(run)
        return function

    return register
