"""The jars of the embedded Neo4j: downloaded once from Maven Central, checked against `jars.lock` at every use."""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path, PurePosixPath
from typing import TypeAlias

from knotwork.adapters.neo4j.file_lock import check_abort, exclusive
from knotwork.errors import SetupFailed

# Called with what is done, the whole (0: not known), and what is going on. Units are bytes while downloading.
OnProgress: TypeAlias = Callable[[int, int, str], None]

LOCK_FILE = Path(__file__).with_name("jars.lock")
DOWNLOADS_AT_ONCE = 8
ATTEMPTS = 3
REQUEST_TIMEOUT_S = 30
HASH_THREADS = 2


@dataclass(frozen=True, slots=True)
class Jar:
    """A pinned jar; `path` is its place in a Maven repository: group/as/folders/artifact/version/file."""

    sha256: str
    size_bytes: int
    path: PurePosixPath


def default_cache() -> Path:
    """The folder that all homes of this user share."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "knotwork" / "neo4j"


def pinned_jars(lock_file: Path = LOCK_FILE) -> tuple[Jar, ...]:
    """Every jar of the server, in the order of the class path."""
    rows = (line.split() for line in lock_file.read_text("ascii").splitlines() if not line.startswith("#"))
    return tuple(Jar(sha256, int(size), PurePosixPath(path)) for sha256, size, path in rows)


def provide_jars(
    cache: Path, *, on_progress: OnProgress, abort: threading.Event, jars: Sequence[Jar] | None = None
) -> list[Path]:
    """Return the jars' files, each with the pinned SHA-256; what is missing or damaged is fetched.

    A jar is moved into its place only when it is whole and proved, so that a killed download leaves nothing half done
    and a later one goes on from there. Processes that share the cache download in turn. Nothing is asked of the
    network when every jar is in place.

    Raises:
        SetupFailed: a jar cannot be had, is not what was pinned, or cannot be stored.
    """
    wanted = pinned_jars() if jars is None else jars
    try:
        if _damaged(cache, wanted):
            with exclusive(cache / "download.lock", abort):
                _download(cache, _damaged(cache, wanted), on_progress, abort)
    except OSError as error:
        raise SetupFailed(
            f"Neo4j's jars cannot be stored in {cache} ({error}); free some space there (160 MB), "
            "or set KNOTWORK_NEO4J_CACHE to a folder you may write"
        ) from error
    return [cache / jar.path for jar in wanted]


def _damaged(cache: Path, jars: Sequence[Jar]) -> list[Jar]:
    """The jars whose file is missing or differs from what was pinned; 150 MB take about 0.2 s."""
    with ThreadPoolExecutor(HASH_THREADS) as pool:
        whole = list(pool.map(_is_whole, repeat(cache), jars))
    return [jar for jar, is_whole in zip(jars, whole, strict=True) if not is_whole]


def _is_whole(root: Path, jar: Jar) -> bool:
    file = root / jar.path
    if not file.is_file() or file.stat().st_size != jar.size_bytes:
        return False
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest() == jar.sha256


def _download(cache: Path, jars: Sequence[Jar], on_progress: OnProgress, abort: threading.Event) -> None:
    partial = cache / "partial"
    shutil.rmtree(partial, ignore_errors=True)  # what a killed download left; the lock is ours
    total = sum(jar.size_bytes for jar in jars)
    done = 0
    with ThreadPoolExecutor(DOWNLOADS_AT_ONCE) as pool:
        fetches = {pool.submit(_fetch, partial, cache, jar, abort): jar for jar in jars}
        try:
            for fetch in as_completed(fetches):
                fetch.result()
                done += fetches[fetch].size_bytes
                on_progress(done, total, f"downloading {fetches[fetch].path.name}")
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    shutil.rmtree(partial, ignore_errors=True)


def _fetch(partial: Path, cache: Path, jar: Jar, abort: threading.Event) -> None:
    """Fetch one jar beside the cache, prove it, and move it in."""
    reason = ""
    for _ in range(ATTEMPTS):
        check_abort(abort)
        staged = partial / jar.path
        staged.unlink(missing_ok=True)
        try:
            _fetch_with_jgo(partial, jar)
        except (OSError, RuntimeError) as error:  # requests' errors are OSErrors; jgo raises RuntimeError
            reason = str(error)
            continue
        if _is_whole(partial, jar):
            (cache / jar.path).parent.mkdir(parents=True, exist_ok=True)
            staged.replace(cache / jar.path)
            return
        reason = "its SHA-256 is not the pinned one"
    raise SetupFailed(
        f"{jar.path.name}, a part of the embedded Neo4j, cannot be downloaded: {reason}. The first start needs Maven "
        "Central (name a mirror under [repositories] as `central = URL` in ~/.config/jgo.conf); start again and the "
        "download goes on, or set KNOTWORK_NEO4J_URI to use a Neo4j of your own"
    )


def _fetch_with_jgo(repository: Path, jar: Jar) -> None:
    from jgo.config import GlobalSettings
    from jgo.constants import MAVEN_CENTRAL_URL
    from jgo.maven import MavenContext

    *group, artifact, version, file_name = jar.path.parts
    context = MavenContext(
        repo_cache=repository,
        remote_repos={"central": MAVEN_CENTRAL_URL} | GlobalSettings.load().repositories,
        timeout=REQUEST_TIMEOUT_S,
    )
    classifier = file_name.removeprefix(f"{artifact}-{version}").removesuffix(".jar").removeprefix("-")
    context.project(".".join(group), artifact).at_version(version).artifact(classifier=classifier).resolve()
