"""The `knotwork` command as a user runs it: a process of its own, with a home of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

COMMAND = Path(sys.executable).with_name("knotwork")
SAMPLES = Path(__file__).parents[2] / "samples"
TIMEOUT_S = 240.0  # of one command on a busy machine
# Most servers here live for seconds: Java's second compiler would cost more than it brings.
QUICK_JAVA = "-XX:TieredStopAtLevel=1"


@dataclass(frozen=True, slots=True)
class Result:
    """What a command answered."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """Standard output as the one JSON document that it must be."""
        return json.loads(self.out)


@dataclass(frozen=True, slots=True)
class CommandLine:
    """Runs commands on one home. Neo4j's jars come from the user's cache."""

    home: Path

    def environment(self, **settings: str) -> dict[str, str]:
        """This process's environment with no setting of Knotwork but the cache of jars, and these.

        One worker, as several services run beside each other here, and each worker loads the models; see also
        `QUICK_JAVA`.
        """
        kept = {name: value for name, value in os.environ.items() if not name.startswith("KNOTWORK_")}
        if cache := os.environ.get("KNOTWORK_NEO4J_CACHE"):
            kept["KNOTWORK_NEO4J_CACHE"] = cache
        sparing = {"KNOTWORK_WORKERS": "1", "KNOTWORK_NEO4J_JAVA_OPTIONS": QUICK_JAVA}
        return kept | {"KNOTWORK_HOME": str(self.home)} | sparing | settings

    def start(self, *words: str, **settings: str) -> subprocess.Popen[str]:
        """Start a command in a session of its own, with pipes for its outputs."""
        return subprocess.Popen(
            [str(COMMAND), *words],
            cwd=self.home.parent,
            env=self.environment(**settings),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=_heed_ctrl_c,  # noqa: PLW1509 - it takes no lock that a thread could hold
        )

    def run(self, *words: str, stdin: bytes | None = None, code: int | None = 0, **settings: str) -> Result:
        """Run a command to its end and see that it ends with this exit code; None: with any."""
        done = subprocess.run(
            [str(COMMAND), *words],
            cwd=self.home.parent,
            env=self.environment(**settings),
            input=stdin or b"",
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        result = Result(done.returncode, done.stdout.decode(), done.stderr.decode())
        assert code is None or result.code == code, f"{words} ended with {result.code}:\n{result.out}\n{result.err}"
        return result

    def processes(self) -> list[psutil.Process]:
        """Every process that names this home: the service, its Neo4j, commands at work."""
        return [
            process
            for process in psutil.process_iter(["cmdline"])
            if any(str(self.home) in word for word in process.info["cmdline"] or [])
        ]

    def service(self) -> psutil.Process:
        """The running service."""
        return psutil.Process(json.loads((self.home / "service.json").read_text())["pid"])


def _heed_ctrl_c() -> None:
    """A shell that starts the tests in the background has them, and all they start, ignore SIGINT."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
