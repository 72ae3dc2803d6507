"""The service: one process that owns a home, serves REST on it, and stops in order."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import os
import secrets
import signal
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import psutil
import structlog
import uvicorn

from knotwork.api.app import create_app
from knotwork.api.home_files import SERVICE, StartProgress, private_files, service_lock, write_private
from knotwork.api.logs import log_to
from knotwork.api.state import State
from knotwork.bootstrap import Models, OnProgress, Platform, open_platform
from knotwork.config import Settings, unknown_variables
from knotwork.errors import SetupFailed

log = structlog.get_logger(__name__)

FIRST_PORT, LAST_PORT = 8080, 8179
GRACE_S = 10  # that requests under way get when the service stops
KEEP_ALIVE_S = 30
HEAD_BYTES = 512 * 1024  # of a request's line and headers: ids and cursors of ids have their place in addresses
BACKLOG = 256


@dataclass(frozen=True, slots=True)
class Service:
    """A service that is ready."""

    url: str
    operator_token: str
    browser_url: str | None


async def serve(
    settings: Settings,
    *,
    models: Models | None = None,
    on_progress: OnProgress | None = None,
    on_ready: Callable[[Service], None] | None = None,
) -> None:
    """Serve `settings.home` until SIGTERM, SIGINT or cancellation; everything is closed when this returns.

    Until it is ready, `home/startup.json` says what is under way; from then on `home/service.json` says where it is.

    Raises:
        SetupFailed: another process serves this home, the port is taken, or the platform cannot be started.
        DimensionMismatch: the embedder differs from the one that filled the vector store.
    """
    home = settings.home.expanduser().resolve()
    settings = settings.model_copy(update={"home": home})
    with (
        private_files(),
        service_lock(home),
        log_to(home / "logs" / "service.log"),
        _bound_socket(settings) as listener,
    ):
        if unknown := unknown_variables(os.environ):
            log.warning("unknown_settings", variables=unknown, see="docs/reference/settings.md")
        (home / SERVICE).unlink(missing_ok=True)  # of a service that was killed
        progress = StartProgress(home)

        def tell(done: int, total: int, text: str) -> None:
            progress(done, total, text)
            if on_progress:
                on_progress(done, total, text)

        try:
            with _told_by_signals() as stop:
                tell(0, 0, "starting the platform")
                async with open_platform(settings, tell, models=models) as platform:
                    await _refuse_open_network(settings, platform)
                    await _run(settings, platform, listener, stop, progress, on_ready)
        finally:
            progress.end()


class _Server(uvicorn.Server):
    """A server that leaves signals to us, as it would end the process before the platform is closed."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.accepting = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.accepting.set()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        state: State = self.config.app.state.knotwork  # type: ignore[union-attr] - the application made below
        state.stopping.set()
        await super().shutdown(sockets)


async def _run(
    settings: Settings,
    platform: Platform,
    listener: socket.socket,
    stop: _Stop,
    progress: StartProgress,
    on_ready: Callable[[Service], None] | None,
) -> None:
    token = secrets.token_urlsafe(32)
    server = _Server(
        uvicorn.Config(
            create_app(platform, operator_token=token),
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,  # a header must not say that a caller is local
            server_header=False,
            timeout_graceful_shutdown=GRACE_S,
            timeout_keep_alive=KEEP_ALIVE_S,
            h11_max_incomplete_event_size=HEAD_BYTES,
        )
    )
    browser_url = platform.browser.url if platform.browser else None
    service = Service(_url(listener), token, browser_url)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    path = settings.home / SERVICE
    try:
        await server.accepting.wait()
        _announce(path, service)
        progress.end()
        log.info("ready", url=service.url)
        if on_ready:
            on_ready(service)
        await stop.told()
    finally:
        path.unlink(missing_ok=True)
        log.info("stopping")
        server.should_exit = True
        await asyncio.shield(serving)


def _announce(path: Path, service: Service) -> None:
    process = psutil.Process()
    write_private(
        path,
        {
            "url": service.url,
            "pid": process.pid,
            "pid_created": process.create_time(),  # tells this process from a later one of the same number
            "operator_token": service.operator_token,
            "version": version("knotwork"),
            "browser_url": service.browser_url,
        },
    )


async def _refuse_open_network(settings: Settings, platform: Platform) -> None:
    if not _is_loopback(settings.host) and not await platform.access.is_guarded():
        raise SetupFailed(
            f"KNOTWORK_HOST is {settings.host}, which others can reach, and no API key exists; start on 127.0.0.1, "
            "make one with POST /v1/keys, then set KNOTWORK_HOST"
        )


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@contextmanager
def _bound_socket(settings: Settings) -> Generator[socket.socket]:
    """A listening socket, taken before anything slow starts, so that a taken port is told at once."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    ports = [settings.port] if settings.port else range(FIRST_PORT, LAST_PORT + 1)
    with contextlib.ExitStack() as stack:
        for port in ports:
            listener = stack.enter_context(socket.socket(family, socket.SOCK_STREAM))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listener.bind((settings.host, port))
                listener.listen(BACKLOG)  # now: two sockets that do not listen yet could share the port
            except PermissionError as error:
                raise SetupFailed(f"port {port} needs rights that this user lacks; choose one above 1023") from error
            except socket.gaierror as error:
                raise SetupFailed(f"KNOTWORK_HOST is {settings.host!r}, which names no address here") from error
            except OSError:
                continue
            yield listener
            return
    if settings.port:
        raise SetupFailed(
            f"port {settings.port} of {settings.host} is taken or not there; free it, or set KNOTWORK_PORT to another"
        )
    raise SetupFailed(f"no port from {FIRST_PORT} to {LAST_PORT} of {settings.host} is free; set KNOTWORK_PORT")


def _url(listener: socket.socket) -> str:
    address: tuple[str, int] = listener.getsockname()[:2]
    host, port = address
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host) or host  # noqa: S104 - an address to call, not to bind
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class _Stop:
    """Whether the service was told to stop. Until someone waits for it, telling it cancels the start."""

    def __init__(self, starting: asyncio.Task[object] | None) -> None:
        self._starting = starting
        self._told = asyncio.Event()

    def tell(self) -> None:
        if self._starting and not self._told.is_set():
            self._starting.cancel()
        self._told.set()

    async def told(self) -> None:
        self._starting = None
        await self._told.wait()

    @property
    def was_told(self) -> bool:
        return self._told.is_set()


@contextmanager
def _told_by_signals() -> Generator[_Stop]:
    """A stop that SIGTERM and SIGINT tell; a start that they cancelled ends without an error."""
    task = asyncio.current_task()
    stop = _Stop(task)
    loop = asyncio.get_running_loop()
    handled: list[signal.Signals] = []
    with contextlib.suppress(RuntimeError, ValueError):  # not the main thread: its owner stops us by cancelling
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.tell)
            handled.append(number)
    try:
        yield stop
    except asyncio.CancelledError:
        if not stop.was_told:
            raise
        if task:
            task.uncancel()
        log.info("start_cancelled")
    finally:
        for number in handled:
            loop.remove_signal_handler(number)
