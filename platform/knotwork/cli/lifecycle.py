"""Finds, starts and stops the service of a home."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import psutil

from knotwork.cli.output import Output, Progress
from knotwork.cli.service_record import (
    Service,
    console_path,
    log_path,
    owner,
    read_service,
    read_startup,
    tail,
    turn,
)
from knotwork.errors import SetupFailed

START_TIMEOUT_S = 1800.0  # the first start downloads 150 MB, perhaps over a thin line
ANSWER_TIMEOUT_S = 60.0  # for a service that says it is ready
STOP_TIMEOUT_S = 90.0  # above what Neo4j gets to close its store
POLL_S = 0.1
HEALTH_TIMEOUT_S = 10.0
START_LOCK = "up.lock"  # held by the command that starts the service, so that others wait for it


@dataclass(frozen=True, slots=True)
class Stopped:
    """What `stop_service` ended."""

    service: int | None = None  # process id
    killed: bool = False  # it did not stop in time
    neo4j: bool = False  # a Neo4j that a killed service had left

    @property
    def anything(self) -> bool:
        return self.service is not None or self.neo4j


def answers(service: Service) -> bool:
    """Whether the service answers, be its parts well or not."""
    return missing_parts(service) is not None


def missing_parts(service: Service) -> dict[str, str] | None:
    """What does not answer behind the service, by name, in its own words; None: the service itself does not."""
    import httpx

    token = {"Authorization": f"Bearer {service.operator_token}"}
    try:
        response = httpx.get(f"{service.url}/v1/ready", headers=token, timeout=HEALTH_TIMEOUT_S, trust_env=False)
        parts = response.json()["parts"]
    except (httpx.HTTPError, ValueError, KeyError):
        return None
    return {name: part["detail"] or "does not answer" for name, part in parts.items() if not part["ok"]}


def ensure_service(home: Path, output: Output, *, announce: bool = True) -> Service:
    """The service of this home, started if there is none; it stays when this process ends.

    Processes that call this at the same time get the same service.

    Args:
        home: The home, absolute.
        output: Where progress and remarks go.
        announce: Remark that a service is started, for callers who did not ask for one.
    Raises:
        SetupFailed: it cannot be started; the message has what it said.
    """
    service = read_service(home)
    missing = missing_parts(service) if service else None
    if service is None or missing is None:
        if announce:
            output.note(f"no service runs for {home}; starting one, which stays until `knotwork down`")
        with output.progress("starting", is_bytes=True) as progress:
            service = _start(home, progress)
    for part, detail in (missing or {}).items():
        output.note(f"warning: {part}: {detail}", style="yellow")
    if service.version != version("knotwork"):
        output.note(
            f"warning: the service is version {service.version}, this command is {version('knotwork')}; "
            "restart it with `knotwork down` and `knotwork up`",
            style="yellow",
        )
    return service


def stop_service(home: Path) -> Stopped:
    """End the service of this home in order, whether it runs or is starting, and a Neo4j that a killed one left."""
    process, killed = _wait_for_owner(home), False
    if process is not None:
        with suppress(psutil.NoSuchProcess):
            process.terminate()
            try:
                process.wait(STOP_TIMEOUT_S)
            except psutil.TimeoutExpired:
                killed = True
                process.kill()
                process.wait(STOP_TIMEOUT_S)
    return Stopped(process.pid if process else None, killed, _stop_neo4j(home))


def _wait_for_owner(home: Path) -> psutil.Process | None:
    """The service of this home; one that a command has begun to start is waited for, until it can be told to stop."""
    deadline = time.monotonic() + ANSWER_TIMEOUT_S
    while (process := owner(home)) is None and time.monotonic() < deadline:
        if not (home / START_LOCK).exists():
            return None
        with turn(home / START_LOCK) as nobody_starts:
            if nobody_starts:
                return owner(home)
        time.sleep(POLL_S)
    return process


def _stop_neo4j(home: Path) -> bool:
    """End the embedded Neo4j of this home if it still runs."""
    if not (home / "neo4j").is_dir():
        return False
    from knotwork.adapters.neo4j.embedded import EmbeddedNeo4j

    server = EmbeddedNeo4j(home)

    async def stop() -> bool:
        if (await server.status()).state == "stopped":
            return False
        await server.stop(force=True)
        return True

    return asyncio.run(stop())


def _start(home: Path, progress: Progress) -> Service:
    """Start a service, or wait for the one that somebody else is starting."""
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        log_path(home).parent.mkdir(exist_ok=True)
    except OSError as error:
        raise SetupFailed(
            f"{home} cannot be written ({error.strerror}); name a folder you may write with --home or KNOTWORK_HOME"
        ) from error
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        with turn(home / START_LOCK) as mine:
            if mine:
                return _ready(home) or _spawn_and_wait(home, progress, deadline)
        if (service := read_service(home)) and answers(service):
            return service
        _show_startup(home, progress)
        time.sleep(POLL_S)
    raise _too_slow(home)


def _spawn_and_wait(home: Path, progress: Progress, deadline: float) -> Service:
    child = _spawn(home)
    try:
        while time.monotonic() < deadline:
            if service := _ready(home):
                return service
            if child.poll() is not None:
                if owner(home) is None:
                    raise SetupFailed(_why_it_ended(child.returncode, home))
                # It gave way to a service that is stopping, or that a killed command had begun to start.
                _wait_for_other(home, progress, deadline)
                if service := _ready(home):
                    return service
                child = _spawn(home)
            _show_startup(home, progress)
            time.sleep(POLL_S)
    except KeyboardInterrupt:
        if child.poll() is None:
            child.terminate()
            child.wait(STOP_TIMEOUT_S)
        raise
    raise _too_slow(home)


def _spawn(home: Path) -> subprocess.Popen[bytes]:
    """Start the service in a session of its own: it outlives this process and its terminal."""
    (home / "startup.json").unlink(missing_ok=True)  # the words of an earlier start
    with console_path(home).open("wb") as console:
        return subprocess.Popen(  # noqa: S603 - our own interpreter and module; no shell
            [sys.executable, "-P", "-m", "knotwork", "serve", "--home", str(home)],
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=subprocess.STDOUT,
            env=os.environ | {"KNOTWORK_HOME": str(home)},
            start_new_session=True,
        )


def _ready(home: Path) -> Service | None:
    """The service once it answers; None when none says that it is ready.

    Raises:
        SetupFailed: it runs and does not come to answer.
    """
    deadline = time.monotonic() + ANSWER_TIMEOUT_S
    while service := read_service(home):
        if answers(service):
            return service
        if time.monotonic() > deadline:
            raise SetupFailed(
                f"the service (process {service.pid}) runs and does not answer at {service.url}; "
                f"`knotwork down` ends it; its log is {log_path(home)}"
            )
        time.sleep(POLL_S)
    return None


def _wait_for_other(home: Path, progress: Progress, deadline: float) -> None:
    """Wait until another service of this home is ready or gone."""
    while read_service(home) is None and owner(home) is not None and time.monotonic() < deadline:
        _show_startup(home, progress)
        time.sleep(POLL_S)


def _show_startup(home: Path, progress: Progress) -> None:
    if startup := read_startup(home):
        progress(startup.done, startup.total, startup.text)


def _why_it_ended(code: int, home: Path) -> str:
    said = tail(console_path(home)) or tail(log_path(home))
    return "\n".join([f"the service ended with code {code} while starting; its log is {log_path(home)}", *said])


def _too_slow(home: Path) -> SetupFailed:
    return SetupFailed(f"the service was not ready after {START_TIMEOUT_S:.0f} s; its log is {log_path(home)}")
