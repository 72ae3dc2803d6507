"""A real Neo4j Community with its Browser, as a child process on loopback that outlives whoever started it."""

from __future__ import annotations

import asyncio
import shlex
import shutil
import subprocess
import threading
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeVar

import psutil
import structlog

from knotwork.adapters.neo4j.class_archive import ClassArchive
from knotwork.adapters.neo4j.file_lock import UseCount, check_abort, exclusive
from knotwork.adapters.neo4j.jars import OnProgress, default_cache, provide_jars
from knotwork.adapters.neo4j.process import (
    BREAKDOWNS,
    DatabaseOffline,
    StartLog,
    end_server,
    find_server,
    is_alive,
    is_serving,
    java,
    java_environment,
    process_of,
    spawn_server,
)
from knotwork.adapters.neo4j.server_home import USER, Ports, ServerHome, heap_mb
from knotwork.errors import SetupFailed

T = TypeVar("T")

log = structlog.get_logger(__name__)

START_TIMEOUT_S = 180.0  # 5 to 11 s on two idle cores; recovery after a kill and a busy machine take longer
STOP_TIMEOUT_S = 60.0
POLL_S = 0.2
PORT_ATTEMPTS = 3
PORT_TAKEN = "already in use"  # in the words of Neo4j and of Java


@dataclass(frozen=True, slots=True)
class Neo4jAddress:
    """How to reach a running server. `http_url` serves Neo4j Browser at `/browser/`."""

    bolt_uri: str
    http_url: str
    user: str
    password: str = field(repr=False)
    pid: int
    log_path: Path


@dataclass(frozen=True, slots=True)
class Neo4jStatus:
    """What runs now. `address` is None when stopped."""

    state: Literal["stopped", "starting", "running"]
    address: Neo4jAddress | None = None


class EmbeddedNeo4j:
    """The Neo4j of one home. Any number of processes may use it; it stops with its last user.

    The server is not tied to the life of the process that started it: when that one is killed, the next start adopts
    the running server. Neo4j itself recovers a store whose server was killed.
    """

    def __init__(
        self,
        home: Path,
        cache: Path | None = None,
        heap_mb: int = 0,
        on_progress: OnProgress | None = None,
        java_options: str = "",
    ) -> None:
        """Nothing is read or written before `start`.

        Args:
            home: Folder of everything stored; this server's part is `home/neo4j`.
            cache: Folder of the downloaded jars, shared by all homes; None: the user's cache folder.
            heap_mb: Heap of the server in MB; 0: sized to the machine.
            on_progress: Called from a worker thread with (done, total, text); bytes while downloading, and
                (0, 0, text) while the server starts.
            java_options: Further options for Java, separated by spaces; they come last, so they win over ours.
        """
        self._home = ServerHome(home.expanduser().resolve() / "neo4j")
        self._cache = (cache or default_cache()).expanduser().resolve()
        self._heap_mb = heap_mb
        self._on_progress = on_progress or _ignore_progress
        self._java_options = java_options
        self._users = UseCount(self._home.root / "users.lock")
        self._is_wanted = False
        self._process: psutil.Process | None = None  # the server last started or adopted
        self._archive: ClassArchive | None = None  # of the server last started

    async def start(self) -> Neo4jAddress:
        """Start the server, or adopt the one that runs for this home; returns once it answers a query.

        Safe to call from several processes at once: one starts, the others adopt. Cancelling it leaves no server
        behind that it started itself.

        Raises:
            SetupFailed: a download, a port, the store or Java fails; the message quotes the log and names it.
        """
        try:
            address = await _in_thread(self._start)
        except asyncio.CancelledError:
            await self.stop()  # it may have come up just before
            raise
        self._is_wanted = True
        return address

    async def stop(self, *, force: bool = False, timeout_s: float = STOP_TIMEOUT_S) -> bool:
        """Stop using the server; the last user ends it, in order, and by force after `timeout_s`.

        Args:
            force: End it even though others use it.
            timeout_s: Seconds that Neo4j gets to close its store.
        Returns:
            Whether the server is down now; False: others still use it.
        """
        self._is_wanted = False
        return await _in_thread(lambda abort: self._stop(abort, force=force, timeout_s=timeout_s))

    @asynccontextmanager
    async def copying(self) -> AsyncGenerator[EmbeddedNeo4j]:
        """A second server of this home, empty and with the same password, which is gone after the block."""
        copy = EmbeddedNeo4j(self._home.copy_home, self._cache, self._heap_mb, self._on_progress, self._java_options)
        await copy.discard()
        try:
            await asyncio.to_thread(self._home.share_password, copy._home)
            yield copy
        finally:
            await copy.discard()

    async def discard(self) -> None:
        """End the server and remove all it has."""
        await self.stop(force=True)
        await asyncio.to_thread(shutil.rmtree, self._home.root, ignore_errors=True)

    async def take_over(self, copy: EmbeddedNeo4j) -> Neo4jAddress:
        """Go on with the data of `copy`; both servers stop, this one starts again, and the old data is removed.

        A crash on the way leaves the old data or the new, whole; the next start goes on with it.
        """
        await copy.stop(force=True)
        await self.stop(force=True)
        await asyncio.to_thread(self._home.take_data, copy._home)
        return await self.start()

    def size_bytes(self) -> int:
        """What data and logs take on the disk."""
        return self._home.size_bytes()

    async def is_gone(self) -> bool:
        """Whether the server should run, as nobody here has stopped it, and does not."""
        return self._is_wanted and not await asyncio.to_thread(self._is_running)

    async def restart(self) -> None:
        """Start the server again after it ended by itself or was killed, on the ports that it had.

        Raises:
            SetupFailed: it does not start, or only on another port, where this process does not look for it.
        """
        await _in_thread(self._restart)

    async def status(self) -> Neo4jStatus:
        """Tell what runs, and change nothing."""
        return await asyncio.to_thread(self._status)

    def _start(self, abort: threading.Event) -> Neo4jAddress:
        try:
            self._home.create()
            with exclusive(self._home.root / "start.lock", abort):
                self._discard_copy()
                self._users.enter()
                try:
                    return self._run(abort)
                except BaseException:
                    self._users.leave()
                    raise
        except OSError as error:
            raise SetupFailed(
                f"{self._home.root} cannot be written ({error}); free some space or set KNOTWORK_HOME to another one"
            ) from error

    def _restart(self, abort: threading.Event) -> None:
        with exclusive(self._home.root / "start.lock", abort):
            if not self._is_wanted:  # somebody stopped it meanwhile
                return
            before = self._home.ports()
            self._run(abort)
            now = self._home.ports()
        if before and now and before.bolt_port != now.bolt_port:
            raise SetupFailed(
                f"Neo4j moved to port {now.bolt_port}, as {before.bolt_port} was taken meanwhile; "
                "restart the service: `knotwork down`, then `knotwork up`"
            )

    def _run(self, abort: threading.Event) -> Neo4jAddress:
        address = self._adopt(abort) or self._start_new(abort)
        self._process = process_of(address.pid)
        return address

    def _is_running(self) -> bool:
        # Not `find_server`, which looks through all processes: this is asked each second.
        return self._process is not None and is_alive(self._process)

    def _discard_copy(self) -> None:
        """End and remove what a process left that was killed while it made a copy."""
        if self._home.copy_home.exists():
            if (process := find_server(ServerHome(self._home.copy_home / "neo4j"))) is not None:
                end_server(process.pid, STOP_TIMEOUT_S)
            shutil.rmtree(self._home.copy_home)

    def _adopt(self, abort: threading.Event) -> Neo4jAddress | None:
        """The server that runs already; one that does not come to answer is ended, so that a new one can start."""
        process, ports = find_server(self._home), self._home.ports()
        if process is None:
            return None
        deadline = time.monotonic() + START_TIMEOUT_S
        while ports is not None and process.is_running() and time.monotonic() < deadline:
            check_abort(abort)
            try:
                if is_serving(process.pid, ports, self._home.password()):
                    log.info("neo4j_adopted", pid=process.pid, bolt_port=ports.bolt_port)
                    return self._address(ports, process.pid)
            except DatabaseOffline:
                break
            time.sleep(POLL_S)
        log.warning("neo4j_unresponsive", pid=process.pid)
        end_server(process.pid, STOP_TIMEOUT_S)
        return None

    def _start_new(self, abort: threading.Event) -> Neo4jAddress:
        jars = provide_jars(self._cache, on_progress=self._on_progress, abort=abort)
        environment = java_environment(jars)
        self._cancel_archive()
        self._archive = archive = ClassArchive(self._cache, jars)
        password = self._home.ensure_password()
        self._on_progress(0, 0, "starting Neo4j")
        attempts_left = PORT_ATTEMPTS
        while True:
            ports = self._home.choose_ports()
            heap = self._heap_mb or heap_mb()
            self._home.write_configuration(ports, heap)
            logs = StartLog(self._home)
            options = archive.options(self._home.class_list)
            is_given = any(str(option).startswith("-XX:SharedArchiveFile") for option in options)
            child = spawn_server(self._home, environment, heap, [*options, *shlex.split(self._java_options)])
            try:
                if self._wait_until_serving(child, ports, password, logs, abort):
                    if is_given and not self._java_options:
                        archive.discard_if_refused(child.pid)
                    archive.make(java(), self._home.class_list, environment)
                    log.info("neo4j_started", pid=child.pid, bolt_port=ports.bolt_port, log=str(self._home.log))
                    return self._address(ports, child.pid)
            except BaseException:
                end_server(child.pid, STOP_TIMEOUT_S)
                raise
            if is_given and child.returncode in BREAKDOWNS and archive.discard():  # perhaps over a damaged archive
                continue
            # Another program may take a port between our choice and Neo4j's bind.
            attempts_left -= 1
            if PORT_TAKEN not in logs.told() or not attempts_left:
                raise self._failed(f"ended with code {child.returncode}", logs)

    def _wait_until_serving(
        self, child: subprocess.Popen[bytes], ports: Ports, password: str, logs: StartLog, abort: threading.Event
    ) -> bool:
        """True once it serves; False when it ended by itself."""
        deadline = time.monotonic() + START_TIMEOUT_S
        while child.poll() is None:
            check_abort(abort)
            try:
                if is_serving(child.pid, ports, password):
                    return True
            except DatabaseOffline as error:
                raise self._failed(f"cannot open its database ({error})", logs) from error
            if time.monotonic() > deadline:
                raise self._failed(f"does not answer after {START_TIMEOUT_S:.0f} s", logs)
            time.sleep(POLL_S)
        return False

    def _stop(self, abort: threading.Event, *, force: bool, timeout_s: float) -> bool:
        if not self._home.root.exists():
            return True
        with exclusive(self._home.root / "start.lock", abort):
            self._cancel_archive()
            if not self._users.leave() and not force:
                return False
            process = find_server(self._home)
            if process is not None and not end_server(process.pid, timeout_s):
                log.warning("neo4j_killed", pid=process.pid, after_s=timeout_s)
            return True

    def _cancel_archive(self) -> None:
        if self._archive is not None:
            self._archive.cancel()

    def _status(self) -> Neo4jStatus:
        process, ports = find_server(self._home), self._home.ports()
        if process is None or ports is None:
            return Neo4jStatus("stopped")
        address = self._address(ports, process.pid)
        try:
            serving = is_serving(process.pid, ports, address.password)
        except DatabaseOffline:
            serving = False
        return Neo4jStatus("running" if serving else "starting", address)

    def _address(self, ports: Ports, pid: int) -> Neo4jAddress:
        return Neo4jAddress(
            bolt_uri=f"bolt://127.0.0.1:{ports.bolt_port}",
            http_url=f"http://127.0.0.1:{ports.http_port}",
            user=USER,
            password=self._home.password(),
            pid=pid,
            log_path=self._home.log,
        )

    def _failed(self, what: str, logs: StartLog) -> SetupFailed:
        return SetupFailed(
            f"Neo4j {what}. Mend what its logs say, or move {self._home.root} away and ingest again. "
            f"The logs are in {self._home.log.parent}:\n{logs.told()}"
        )


async def _in_thread(work: Callable[[threading.Event], T]) -> T:
    """Run blocking work in a thread; on cancellation tell it to abort, and wait until it has cleaned up."""
    abort = threading.Event()
    task = asyncio.ensure_future(asyncio.to_thread(work, abort))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        abort.set()
        with suppress(SetupFailed):
            await task
        raise


def _ignore_progress(_done: int, _total: int, _text: str) -> None:
    pass
